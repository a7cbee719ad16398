"""Long flows of others that share a link with the calls, each of them an AimdFlow."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from .aimd_flow import PACKET_BYTES, AimdFlow
from .event_loop import Action, EventLoop, Wake
from .link import Delivered, Link, LossReason, Lost
from .steps import Steps


class CrossTraffic:
    """The flows of one link. Acknowledgements return after ack_delay_us and queue nowhere."""

    def __init__(
        self, flows: Steps[int], *, link: Link, ack_delay_us: int, loop: EventLoop
    ) -> None:
        """flows is how many there are over time."""
        self.served_us = array("q")
        """When each packet that the link took was sent."""
        self._flows = flows
        self._link = link
        self._ack_delay_us = ack_delay_us
        self._loop = loop
        self._running: list[_Sender] = []
        for time_us in flows.times_us:
            loop.at(time_us, self._adjust)

    def spans_us(self, end_us: int) -> list[tuple[int, int]]:
        """[from, to) of each step with at least one flow."""
        edges = [*(t for t in self._flows.times_us if t < end_us), end_us]
        return [span for span in pairwise(edges) if self._flows.at(span[0])]

    def _adjust(self) -> None:
        """Begin and end flows; the youngest ends first, and starts anew if it comes back."""
        wanted = self._flows.at(self._loop.now_us)
        while len(self._running) > wanted:
            self._running.pop().stop()
        while len(self._running) < wanted:
            self._running.append(_Sender(self._offer, loop=self._loop))
            self._running[-1].pump()

    def _offer(self, acknowledged: Action) -> None:
        now_us = self._loop.now_us
        fate = self._link.offer(PACKET_BYTES, now_us=now_us)
        if fate != Lost(LossReason.QUEUE):
            self.served_us.append(now_us)
        if isinstance(fate, Delivered):
            self._loop.at(fate.arrival_us + self._ack_delay_us, acknowledged)


class _Sender:
    """Drives one flow; offer sends a packet and runs an action once it is acknowledged."""

    def __init__(self, offer: Callable[[Action], None], *, loop: EventLoop) -> None:
        self._offer = offer
        self._loop = loop
        self._flow = AimdFlow()
        self._wake = Wake(loop, self._timeout)
        self._is_stopped = False

    def pump(self) -> None:
        for number in self._flow.poll_packets(now_us=self._loop.now_us):
            self._offer(partial(self._acknowledged, number))
        self._wake.set(self._flow.poll_timeout())

    def stop(self) -> None:
        self._is_stopped = True
        self._wake.set(None)

    def _acknowledged(self, number: int) -> None:
        if not self._is_stopped:
            self._flow.handle_ack(number, now_us=self._loop.now_us)
            self.pump()

    def _timeout(self) -> None:
        self._flow.handle_timeout(now_us=self._loop.now_us)
        self.pump()
