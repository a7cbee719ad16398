"""One direction of a network path, sans-I/O: the simulator and the live relay run the same class.

A packet waits in a drop-tail queue, is served at the link's rate, may then be lost, and arrives
after the propagation delay. Sizes are those on the wire: add IP_UDP_BYTES to a UDP payload.
"""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass, field
from enum import StrEnum

from ...codecs.errors import LocalError
from .loss import Loss
from .rate import Rate
from .trace import OPPORTUNITY_BYTES

# ours: a tenth of the shortest outage that anybody sees.
OUTAGE_GRID_US = 10_000


class LossReason(StrEnum):
    """Why a packet does not arrive."""

    QUEUE = "queue"
    """The queue was full."""
    LOSS = "loss"
    """Lost on the way, after it was served."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """When the packet arrives, and how long it waited until its first byte was served."""

    arrival_us: int
    queue_us: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The packet does not arrive; queue_us is how long it waited where it was served."""

    reason: LossReason
    queue_us: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """The path behind the queue, and the queue's size.

    delay_us: propagation, one way. jitter_us: up to this much is added, evenly distributed; packets
    keep their order. reorder_ratio of the packets is held back by reorder_us more and may be
    overtaken. The queue is full for a packet that would wait for longer than queue_us behind others
    (an idle link takes any packet, in an outage too), or that does not fit into queue_bytes beside
    what is not served yet; None is no limit. Raises LocalError for a value outside its range.
    """

    delay_us: int = 0
    jitter_us: int = 0
    reorder_ratio: float = 0.0
    reorder_us: int = 0
    queue_us: int | None = None
    queue_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("delay_us", "jitter_us", "reorder_us", "queue_us"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise LocalError(f"{name} {value} is below 0")
        if not 0 <= self.reorder_ratio <= 1:
            raise LocalError(f"reorder_ratio {self.reorder_ratio} is outside 0..1")
        if self.queue_bytes is not None and self.queue_bytes < OPPORTUNITY_BYTES:
            raise LocalError(
                f"queue_bytes {self.queue_bytes} is below one packet of {OPPORTUNITY_BYTES}"
            )


@dataclass(slots=True)
class LinkCounters:
    """What was offered to the link and what became of it. served includes what was lost later."""

    offered_packets: int = 0
    offered_bytes: int = 0
    served_bytes: int = 0
    delivered_packets: int = 0
    delivered_bytes: int = 0
    dropped: dict[LossReason, int] = field(default_factory=lambda: dict.fromkeys(LossReason, 0))
    queue_delays_us: array[int] = field(default_factory=lambda: array("q"))
    """One sample a served packet."""


class Link:
    """See the module. The same rng, settings and offers give the same answers."""

    def __init__(
        self, *, rate: Rate, loss: Loss, settings: LinkSettings, rng: random.Random
    ) -> None:
        self.counters = LinkCounters()
        self._rate = rate
        self._loss = loss
        self._settings = settings
        self._rng = rng
        self._served = 0
        self._now_us = 0
        self._last_arrival_us = 0

    def capacity_bytes(self, start_us: int, end_us: int) -> int:
        """What the link offered to carry in an interval, rounded down."""
        offered = self._rate.offered(end_us) - self._rate.offered(start_us)
        return offered // self._rate.units_per_byte

    def outage_us(self, start_us: int, end_us: int, *, least_us: int) -> int:
        """The time in an interval that belongs to outages of at least this length.

        Seen on a grid of OUTAGE_GRID_US, by which each may be taken for shorter.
        """
        total_us = now_us = start_us
        while now_us < end_us:
            next_us = min(self._rate.begins_us(self._rate.offered(now_us)), end_us)
            if next_us - now_us >= least_us:
                total_us += next_us - now_us
            now_us = max(next_us, now_us + OUTAGE_GRID_US)
        return total_us - start_us

    def backlog_bytes(self, now_us: int) -> int:
        """What was taken and is not served yet, rounded up."""
        backlog = max(0, self._served - self._rate.offered(now_us))
        return -(-backlog // self._rate.units_per_byte)

    def served_bytes(self, now_us: int) -> int:
        """What has been served by a time that is not before the last offer, rounded down."""
        return self.counters.served_bytes - self.backlog_bytes(now_us)

    def wait_us(self, now_us: int) -> int:
        """How long a packet that came now would wait until its first byte is served."""
        return max(0, self._rate.begins_us(self._start(now_us)) - now_us)

    def offer(self, size_bytes: int, *, now_us: int) -> Delivered | Lost:
        """Send a packet. Time begins at 0 and may not run backwards, which raises LocalError."""
        if size_bytes <= 0 or now_us < self._now_us:
            raise LocalError(
                f"{size_bytes} bytes at {now_us} us: sizes are above 0, times not below "
                f"{self._now_us} us"
            )
        self._now_us = now_us
        counters = self.counters
        counters.offered_packets += 1
        counters.offered_bytes += size_bytes
        if self._is_full(size_bytes):
            counters.dropped[LossReason.QUEUE] += 1
            return Lost(LossReason.QUEUE)
        queue_us = self.wait_us(now_us)
        self._served = self._start(now_us) + size_bytes * self._rate.units_per_byte
        counters.served_bytes += size_bytes
        counters.queue_delays_us.append(queue_us)
        if self._loss.lost(now_us=now_us):
            counters.dropped[LossReason.LOSS] += 1
            return Lost(LossReason.LOSS, queue_us)
        counters.delivered_packets += 1
        counters.delivered_bytes += size_bytes
        return Delivered(self._arrival_us(self._rate.ends_us(self._served)), queue_us)

    def _start(self, now_us: int) -> int:
        return max(self._rate.offered(now_us), self._served)

    def _is_full(self, size_bytes: int) -> bool:
        backlog = self._served - self._rate.offered(self._now_us)
        if backlog <= 0:
            return False
        limit_us, limit_bytes = self._settings.queue_us, self._settings.queue_bytes
        if limit_us is not None and self._rate.ends_us(self._served) - self._now_us > limit_us:
            return True
        waiting = backlog + size_bytes * self._rate.units_per_byte
        return limit_bytes is not None and waiting > limit_bytes * self._rate.units_per_byte

    def _arrival_us(self, served_us: int) -> int:
        settings = self._settings
        arrival_us = served_us + settings.delay_us
        if settings.jitter_us:
            arrival_us += self._rng.randint(0, settings.jitter_us)
        arrival_us = max(arrival_us, self._last_arrival_us)
        if settings.reorder_ratio and self._rng.random() < settings.reorder_ratio:
            return arrival_us + settings.reorder_us
        self._last_arrival_us = arrival_us
        return arrival_us
