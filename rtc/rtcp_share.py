"""How much RTCP a receiver may send: a share of what it receives (RFC 3550 section 6.2)."""

from __future__ import annotations

from .datagram import RTCP_OVERHEAD_BYTES, RTP_OVERHEAD_BYTES
from .sliding_sum import SlidingSum

# RFC 3550 section 6.2: 5 % of the session's bandwidth, the lower layers' headers counted.
SHARE_PERCENT = 5
# ours: the rest of the share is left to feedback that cannot wait.
REGULAR_PERCENT = 80

# ours: feedback oftener than 25 ms tells nothing that a frame's interval could use; a sender that
# waits longer than 100 ms for it fills a queue by that much more.
MIN_INTERVAL_US = 25_000
MAX_INTERVAL_US = 100_000

_WINDOW_US = 1_000_000
_RECEIVED_STEP_US = 1_000


class RtcpShare:
    """Weighs the RTCP of the last second against what came in it."""

    def __init__(self) -> None:
        self._received = SlidingSum(window_us=_WINDOW_US)
        self._feedback = SlidingSum(window_us=_WINDOW_US)
        self._other = SlidingSum(window_us=_WINDOW_US)

    def received(self, size_bytes: int, *, now_us: int) -> None:
        """Count an RTP packet of this size."""
        # In steps, so that a flood of packets takes no memory; they leave the window 1 ms early.
        step_us = now_us - now_us % _RECEIVED_STEP_US
        self._received.add(size_bytes + RTP_OVERHEAD_BYTES, now_us=step_us)

    def sent_feedback(self, size_bytes: int, *, now_us: int) -> None:
        """Count a datagram of transport-wide feedback."""
        self._feedback.add(size_bytes + RTCP_OVERHEAD_BYTES, now_us=now_us)

    def sent_other(self, size_bytes: int, *, now_us: int) -> None:
        """Count a datagram of other RTCP."""
        self._other.add(size_bytes + RTCP_OVERHEAD_BYTES, now_us=now_us)

    def allows(self, size_bytes: int, *, now_us: int) -> bool:
        """Whether one more datagram keeps the last second's RTCP within the share."""
        sent_bytes = self._feedback.total(now_us=now_us) + self._other.total(now_us=now_us)
        sent_bytes += size_bytes + RTCP_OVERHEAD_BYTES
        return 100 * sent_bytes <= SHARE_PERCENT * self._received.total(now_us=now_us)

    def interval_us(self, size_bytes: int, *, now_us: int) -> int:
        """How far apart regular feedback of this size goes out."""
        share_bytes = SHARE_PERCENT * self._received.total(now_us=now_us) // 100
        share_bytes -= self._other.total(now_us=now_us)
        if share_bytes <= 0:
            return MAX_INTERVAL_US
        # After a pause the window is filled for a part only.
        filled_us = max(self._received.age_us(now_us=now_us), MAX_INTERVAL_US)
        datagram_bytes = size_bytes + RTCP_OVERHEAD_BYTES
        interval_us = 100 * datagram_bytes * filled_us // (REGULAR_PERCENT * share_bytes)
        return max(MIN_INTERVAL_US, min(interval_us, MAX_INTERVAL_US))
