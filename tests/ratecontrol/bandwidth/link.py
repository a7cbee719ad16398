"""A link and a source in virtual time, just large enough to drive an estimator."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from codecpilot.ratecontrol.bandwidth.messages import (
    BandwidthEstimator,
    Feedback,
    PacketResult,
    SentPacket,
)

TICK_US = 1_000
FRAME_US = 33_333
PACKET_BYTES = 1_200
SECOND_US = 1_000_000


@dataclass(slots=True, kw_only=True)
class Link:
    """A queue in front of a rate, with a delay behind it."""

    rate_bps: Callable[[int], int]
    delay_us: int = 25_000
    queue_us: int = 300_000
    loss_ratio: float = 0.0
    random: Random = field(default_factory=lambda: Random(1))
    free_us: int = 0
    overflows: int = 0

    def wait_us(self, now_us: int) -> int:
        return max(self.free_us - now_us, 0)

    def carry(self, size_bytes: int, *, now_us: int) -> int | None:
        """When a packet comes out; None where it is lost."""
        if self.wait_us(now_us) > self.queue_us:
            self.overflows += 1
            return None
        start_us = max(now_us, self.free_us)
        self.free_us = start_us + size_bytes * 8 * SECOND_US // self.rate_bps(start_us)
        lost = self.random.random() < self.loss_ratio
        return None if lost else self.free_us + self.delay_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The state at one time."""

    now_us: int
    target_bps: int
    wait_us: int
    sent_bytes: int


@dataclass(kw_only=True)
class Call:
    """A source that sends what the estimator allows, up to demand_bps, as paced frames."""

    estimator: BandwidthEstimator
    link: Link
    demand_bps: Callable[[int], int] = lambda now_us: 2_500_000
    feedback_us: int = 50_000
    # The receiver's clock against ours.
    clock: Callable[[int], int] = lambda now_us: now_us + 12_345_678
    # Times in which feedback is lost.
    deaf: Callable[[int], bool] = lambda now_us: False
    now_us: int = 0
    samples: list[Sample] = field(default_factory=list)
    probes_bps: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._number = 0
        self._sent_bytes = 0
        self._backlog: deque[int] = deque()
        self._frame_us = 0
        self._pace_us = 0
        self._told_bps = 0
        self._unreported: dict[int, tuple[SentPacket, int | None]] = {}
        self._coming: deque[Feedback] = deque()
        self._report_us = self.feedback_us

    def run(self, seconds: float) -> None:
        end_us = self.now_us + int(seconds * SECOND_US)
        while self.now_us < end_us:
            self._tick()
            self.now_us += TICK_US

    def mean_target(self, start_s: float, end_s: float) -> float:
        chosen = [s.target_bps for s in self.between(start_s, end_s)]
        return sum(chosen) / len(chosen)

    def sent_bps(self, start_s: float, end_s: float) -> float:
        chosen = self.between(start_s, end_s)
        return 8 * (chosen[-1].sent_bytes - chosen[0].sent_bytes) / (end_s - start_s)

    def between(self, start_s: float, end_s: float) -> list[Sample]:
        return [s for s in self.samples if start_s <= s.now_us / SECOND_US < end_s]

    def _tick(self) -> None:
        now_us = self.now_us
        demand_bps = self.demand_bps(now_us)
        if demand_bps != self._told_bps:
            self._told_bps = demand_bps
            self.estimator.set_demand(demand_bps, now_us=now_us)
        while self._coming and self._coming[0].now_us <= now_us:
            self.estimator.handle_feedback(self._coming.popleft())
        self.estimator.poll(now_us=now_us)
        self._probe()
        self._send_frames(demand_bps)
        if now_us >= self._report_us:
            self._report_us += self.feedback_us
            self._report()
        if now_us % 10_000 == 0:
            self.samples.append(
                Sample(
                    now_us=now_us,
                    target_bps=self.estimator.target_bps,
                    wait_us=self.link.wait_us(now_us),
                    sent_bytes=self._sent_bytes,
                )
            )

    def _probe(self) -> None:
        while (cluster := self.estimator.poll_probe(now_us=self.now_us)) is not None:
            self.probes_bps.append(cluster.rate_bps)
            size_bytes = max(-(-cluster.min_bytes // cluster.min_packets), 200)
            for i in range(cluster.min_packets + 1):
                gap_us = size_bytes * 8 * SECOND_US // cluster.rate_bps
                self._send(size_bytes, self.now_us + i * gap_us, cluster.probe_id)

    def _send_frames(self, demand_bps: int) -> None:
        if self.now_us >= self._frame_us:
            self._frame_us += FRAME_US
            size_bytes = min(self.estimator.target_bps, demand_bps) * FRAME_US // (8 * SECOND_US)
            while size_bytes > 0:
                self._backlog.append(min(size_bytes, PACKET_BYTES))
                size_bytes -= PACKET_BYTES
        while self._backlog and self._pace_us <= self.now_us:
            size_bytes = self._backlog.popleft()
            self._send(size_bytes, self.now_us, None)
            pace_us = size_bytes * 8 * SECOND_US // self.estimator.pacing_bps
            self._pace_us = max(self._pace_us, self.now_us - TICK_US) + pace_us

    def _send(self, size_bytes: int, sent_us: int, probe_id: int | None) -> None:
        self._number += 1
        self._sent_bytes += size_bytes
        packet = SentPacket(
            number=self._number, sent_us=sent_us, size_bytes=size_bytes, probe_id=probe_id
        )
        self._unreported[self._number] = (packet, self.link.carry(size_bytes, now_us=sent_us))
        self.estimator.handle_sent(packet)

    def _report(self) -> None:
        arrived = [n for n, (_, at) in self._unreported.items() if at and at <= self.now_us]
        if not arrived:
            return
        results = []
        for number in [n for n in self._unreported if n <= max(arrived)]:
            packet, at_us = self._unreported.pop(number)
            arrival_us = None if at_us is None else self.clock(at_us)
            results.append(PacketResult(packet=packet, arrival_us=arrival_us))
        if not self.deaf(self.now_us):
            feedback = Feedback(
                now_us=self.now_us + self.link.delay_us,
                results=tuple(results),
            )
            self._coming.append(feedback)
