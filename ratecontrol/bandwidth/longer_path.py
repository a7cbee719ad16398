"""Tells a path that has become longer from a queue.

The delay of a longer path does not move, although more was drained than would empty a queue as long.
A queue that others fill moves: a TCP flow's with its window, a call's with each frame.
"""

from __future__ import annotations

from collections import deque

# ours: three seconds in which the least delay of each is the same but for this.
WINDOW_US = 1_000_000
WINDOWS = 3
STEADY_US = 4_000
# ours: what is less than this above the least delay costs hardly any rate.
LEAST_US = 10_000
# ours: what must have drained beyond the queue.
MARGIN_US = 50_000


class LongerPath:
    """Takes every feedback."""

    def __init__(self) -> None:
        self._windows: deque[tuple[float, float]] = deque(maxlen=WINDOWS)
        self._began_us: int | None = None
        self._least_us = float("inf")
        self._drained_us = 0.0

    def update(
        self, *, queue_us: float, elapsed_us: int, sent_bits: int, capacity_bps: float, now_us: int
    ) -> bool:
        """Whether the least queue that feedback showed is the path's own; sent_bits left since the last one."""
        if self._began_us is None:
            self._began_us = now_us
        self._least_us = min(self._least_us, queue_us)
        self._drained_us += elapsed_us - sent_bits * 1e6 / capacity_bps
        if now_us - self._began_us < WINDOW_US:
            return False
        self._windows.append((self._least_us, self._drained_us))
        self._began_us, self._least_us, self._drained_us = now_us, float("inf"), 0.0
        least_us = min(least for least, _ in self._windows)
        most_us = max(least for least, _ in self._windows)
        drained_us = sum(drained for _, drained in self._windows)
        is_steady = len(self._windows) == WINDOWS and most_us - least_us < STEADY_US
        if not is_steady or least_us < LEAST_US or drained_us < most_us + MARGIN_US:
            return False
        self._windows.clear()
        return True
