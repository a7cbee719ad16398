"""Holds a share of the path against traffic that fills its queue, whatever we do.

A queue of our own making drains when less is sent than the path carries. One that stays although more
than all of it could have drained belongs to others: a long TCP flow, or a path that has become longer.
Then waiting for it to empty would starve the call. The rate follows loss as theirs does (additive
increase, multiplicative decrease, RFC 5681), until the queue has gone.
"""

from __future__ import annotations

# ours: a queue below this is one that calls among themselves settle on (three of them: p95 65 ms). A
# flow's falls below it too, each time that its window is halved, but not for so long; that time does
# not count as drained.
QUEUE_US = 80_000
SHORT_FOR_US = 1_000_000
# ours: what must have drained beyond the longest queue seen, and over how many packets, to be sure. With
# less, a cellular link that pauses again and again is taken for shared, and its queue doubles.
MARGIN_US = 800_000
MIN_PACKETS = 12
# ours: competition is over when the queue has been this short for so long.
OVER_QUEUE_US = 40_000
OVER_FOR_US = 300_000
# ours, measured against one Reno flow at 1 Mbps: 0.6 packets a round trip and three quarters on loss
# share the link evenly; half on loss would leave a third.
INCREASE_BITS = 5_760
DECREASE_RATIO = 0.75
# ours: begin with no less than this part of what the path was last seen to carry for us.
FIRST_RATIO = 0.25
# ours: a delay that has hardly moved for so long, without loss, is the path's own.
STEADY_US = 25_000
STEADY_FOR_US = 3_000_000


class Competition:
    """See the module. Told of every feedback; rate_bps is None while there is no competitor."""

    def __init__(self) -> None:
        self.rate_bps: float | None = None
        """The least to send, None for no competition."""
        self._drained_us = 0.0
        self._longest_us = 0.0
        self._packets = 0
        self._long_us = -SHORT_FOR_US
        self._short_since_us: int | None = None
        self._lowered_us = 0
        self._steady_since_us = 0
        self._steady_us = (0.0, 0.0)

    def update(
        self,
        *,
        queue_us: float,
        elapsed_us: int,
        sent_bits: int,
        capacity_bps: float,
        target_bps: int,
        packets: int,
        now_us: int,
    ) -> None:
        """Take the queue that feedback showed and what was sent since the feedback before."""
        if queue_us >= QUEUE_US:
            self._long_us = now_us
            drained_us = elapsed_us - sent_bits * 1e6 / capacity_bps
            self._drained_us = max(0.0, self._drained_us + drained_us)
            self._longest_us = max(self._longest_us, queue_us)
            self._packets += packets
        elif now_us - self._long_us > SHORT_FOR_US:
            self._drained_us = self._longest_us = 0.0
            self._packets = 0
        is_theirs = self._drained_us > self._longest_us + MARGIN_US and self._packets > MIN_PACKETS
        if self.rate_bps is None and is_theirs:
            self.rate_bps = max(float(target_bps), FIRST_RATIO * capacity_bps)
            self._lowered_us = self._steady_since_us = now_us
            self._steady_us = (queue_us, queue_us)
            self._short_since_us = None

    def follow(
        self, *, queue_us: float, rtt_us: float, has_loss: bool, elapsed_us: int, now_us: int
    ) -> None:
        """Move the rate, while there is competition."""
        if self.rate_bps is None:
            return
        self.rate_bps += INCREASE_BITS * 1e6 * elapsed_us / (rtt_us * rtt_us)
        if has_loss and now_us > self._lowered_us + rtt_us:
            self.rate_bps *= DECREASE_RATIO
            self._lowered_us = now_us
        least_us, most_us = (min(self._steady_us[0], queue_us), max(self._steady_us[1], queue_us))
        if has_loss or most_us - least_us > STEADY_US:
            self._steady_since_us, self._steady_us = now_us, (queue_us, queue_us)
        else:
            self._steady_us = (least_us, most_us)
        if queue_us >= OVER_QUEUE_US:
            self._short_since_us = None
        elif self._short_since_us is None:
            self._short_since_us = now_us

    def is_over(self, *, now_us: int) -> bool:
        """Whether the queue has gone."""
        since_us = self._short_since_us
        return (
            self.rate_bps is not None and since_us is not None and now_us - since_us > OVER_FOR_US
        )

    def is_path(self, *, now_us: int) -> bool:
        """Whether there is no competitor, and the path itself has become longer."""
        return self.rate_bps is not None and now_us - self._steady_since_us > STEADY_FOR_US

    def end(self) -> None:
        """Go back to looking for one."""
        self.rate_bps = None
        self._drained_us = self._longest_us = 0.0
        self._packets = 0
