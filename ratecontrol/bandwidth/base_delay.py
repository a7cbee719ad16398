"""How long packets wait on the way: one-way delay above the least one seen."""

from __future__ import annotations

from collections import deque

# ours: the least delay of each fifth of a second is remembered; 150 entries for half a minute.
BUCKET_US = 200_000


class BaseDelay:
    """The least one-way delay of a moving window, with the size of the packet that had it.

    Delays are arrival less sending, whose clocks differ by an unknown offset: only differences count.
    A drift of 200 ppm moves the least by 6 ms in 30 s.
    """

    def __init__(self, *, window_us: int) -> None:
        self._window_us = window_us
        self._buckets: deque[tuple[int, int, int]] = deque()
        self._least: tuple[int, int] | None = None

    @property
    def least_us(self) -> int | None:
        """The least delay; None before the first packet."""
        return None if self._least is None else self._least[0]

    def add(self, delay_us: int, *, size_bytes: int, now_us: int) -> None:
        """Take a packet's delay; now_us does not fall."""
        buckets = self._buckets
        if not buckets or now_us - buckets[-1][0] >= BUCKET_US:
            buckets.append((now_us, delay_us, size_bytes))
        elif (delay_us, size_bytes) < buckets[-1][1:]:
            buckets[-1] = (buckets[-1][0], delay_us, size_bytes)
        expired = False
        while buckets[0][0] < now_us - self._window_us:
            buckets.popleft()
            expired = True
        if expired or self._least is None:
            self._least = min(bucket[1:] for bucket in buckets)
        else:
            self._least = min(self._least, (delay_us, size_bytes))

    def queue_us(self, delay_us: int, *, size_bytes: int, capacity_bps: float) -> float:
        """How long a packet waited: its delay above the least, less what its size takes longer."""
        if self._least is None:
            return 0.0
        least_us, least_bytes = self._least
        longer_us = max(0, size_bytes - least_bytes) * 8e6 / capacity_bps
        return max(0.0, delay_us - least_us - longer_us)

    def restart(self) -> None:
        """Forget what was least: the path has changed."""
        self._buckets.clear()
        self._least = None
