"""One link for several senders, in virtual time from event to event; link and competing flow are the simulator's."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count
from random import Random

from codecpilot.rtc.simulation.aimd_flow import PACKET_BYTES, AimdFlow
from codecpilot.rtc.simulation.link import Delivered, Link, LinkSettings, LossReason, Lost
from codecpilot.rtc.simulation.loss import BernoulliLoss
from codecpilot.rtc.simulation.rate import StepRate
from codecpilot.rtc.simulation.steps import Steps

SECOND_US = 1_000_000


def rate_steps(*steps: tuple[float, float]) -> StepRate:
    """A rate of kbps from these seconds on; 0 is an outage."""
    times_us = tuple(round(start_s * SECOND_US) for start_s, _ in steps)
    return StepRate(Steps(times_us, tuple(Fraction(kbps) for _, kbps in steps)))


@dataclass(frozen=True, slots=True)
class Offered:
    """A packet that left; arrival_us is None where it did not arrive, is_full where the queue was."""

    sent_us: int
    size_bytes: int
    wait_us: int
    arrival_us: int | None
    is_full: bool


class Network:
    """The link, the events on it, and a flow that competes once it is started."""

    def __init__(
        self,
        rate: StepRate,
        *,
        delay_us: int = 25_000,
        queue_us: int = 300_000,
        jitter_us: int = 0,
        loss_ratio: float = 0.0,
        seed: int = 1,
    ) -> None:
        rng = Random(seed)
        self.link = Link(
            rate=rate,
            loss=BernoulliLoss(Steps.constant(loss_ratio), rng=rng),
            settings=LinkSettings(delay_us=delay_us, queue_us=queue_us, jitter_us=jitter_us),
            rng=rng,
        )
        self.back_us = delay_us
        # A path that is longer from a time on, in both directions together.
        self.longer: Callable[[int], int] = lambda now_us: 0
        self.now_us = 0
        self.cross_bytes = 0
        self._stopped: set[int] = set()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, time_us: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(time_us, self.now_us), next(self._order), event))

    def run(self, seconds: float) -> None:
        """Until this time."""
        while self._events and self._events[0][0] < seconds * SECOND_US:
            self.now_us, _, event = heapq.heappop(self._events)
            event()

    def offer(self, size_bytes: int) -> Offered:
        answer = self.link.offer(size_bytes, now_us=self.now_us)
        match answer:
            case Delivered(arrival_us=arrival_us, queue_us=wait_us):
                arrival_us += self.longer(self.now_us)
                return Offered(self.now_us, size_bytes, wait_us, arrival_us, False)
            case Lost(reason=reason):
                wait_us = answer.queue_us or 0
                return Offered(self.now_us, size_bytes, wait_us, None, reason is LossReason.QUEUE)

    def capacity_bps(self, start_s: float, end_s: float) -> float:
        span = (round(start_s * SECOND_US), round(end_s * SECOND_US))
        return 8 * self.link.capacity_bytes(*span) / (end_s - start_s)

    def compete(self, flow: AimdFlow) -> None:
        """Let a flow send all that its window allows, now and after each answer."""
        if id(flow) in self._stopped:
            return
        for number in flow.poll_packets(now_us=self.now_us):
            arrival_us = self.offer(PACKET_BYTES).arrival_us
            if arrival_us is not None:
                self.cross_bytes += PACKET_BYTES
                self.at(arrival_us + self.back_us, partial(self._acknowledge, flow, number))
        timeout_us = flow.poll_timeout()
        if timeout_us is not None:
            self.at(timeout_us, partial(self._time_out, flow))

    def stop(self, flow: AimdFlow) -> None:
        """Let a flow send no more."""
        self._stopped.add(id(flow))

    def _acknowledge(self, flow: AimdFlow, number: int) -> None:
        flow.handle_ack(number, now_us=self.now_us)
        self.compete(flow)

    def _time_out(self, flow: AimdFlow) -> None:
        timeout_us = flow.poll_timeout()
        if timeout_us is not None and timeout_us <= self.now_us:
            flow.handle_timeout(now_us=self.now_us)
            self.compete(flow)
