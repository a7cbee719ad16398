"""The least of the values of a moving window of time."""

from __future__ import annotations

from collections import deque


class WindowedMinimum:
    """Values come with ascending times; each costs amortised constant time."""

    def __init__(self, *, window_us: int) -> None:
        self._window_us = window_us
        # Ascending values: the head is the least, and what a newer and lesser one outlives is gone.
        self._values: deque[tuple[int, int]] = deque()

    def add(self, value: int, *, now_us: int) -> int:
        """Take a value; the least of those not older than the window."""
        while self._values and self._values[-1][1] >= value:
            self._values.pop()
        if not self._values or self._values[-1][0] != now_us:
            self._values.append((now_us, value))
        self._expire(now_us)
        return self._values[0][1]

    def least(self, *, now_us: int) -> int | None:
        """The least of those not older than the window; None when there is none."""
        self._expire(now_us)
        return self._values[0][1] if self._values else None

    def _expire(self, now_us: int) -> None:
        while self._values and self._values[0][0] < now_us - self._window_us:
            self._values.popleft()
