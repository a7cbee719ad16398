"""What feedback says arrived, by our own clock: no word of the receiver can make it more than was sent."""

from __future__ import annotations

from collections import deque

# ours: long enough for ten frames, short enough to follow a rate that doubles four times a second.
WINDOW_US = 400_000


class DeliveredRate:
    """Bits that were acknowledged in the last moments, over how long it took."""

    def __init__(self) -> None:
        self._sizes: deque[tuple[int, int]] = deque()
        self._bytes = 0
        self._first_sent_us: int | None = None

    def add(self, size_bytes: int, *, sent_us: int, now_us: int) -> None:
        """Take a packet that arrived."""
        if self._first_sent_us is None:
            self._first_sent_us = sent_us
        self._sizes.append((now_us, size_bytes))
        self._bytes += size_bytes

    def bps(self, now_us: int) -> float:
        """The rate of the last moments; 0 before the first packet."""
        sizes = self._sizes
        while sizes and sizes[0][0] <= now_us - WINDOW_US:
            self._bytes -= sizes.popleft()[1]
        if self._first_sent_us is None:
            return 0.0
        # At the start a window is not full yet; a single packet is no rate.
        elapsed_us = min(WINDOW_US, max(now_us - self._first_sent_us, WINDOW_US // 4))
        return self._bytes * 8e6 / elapsed_us
