"""The sum of the values of a moving window of time."""

from __future__ import annotations

from collections import deque


class SlidingSum:
    """Values come with ascending times; those of one time share one place in memory."""

    def __init__(self, *, window_us: int) -> None:
        self._window_us = window_us
        self._values: deque[tuple[int, int]] = deque()
        self._sum = 0

    def add(self, value: int, *, now_us: int) -> None:
        """Take a value."""
        self._sum += value
        if self._values and self._values[-1][0] == now_us:
            value += self._values.pop()[1]
        self._values.append((now_us, value))

    def total(self, *, now_us: int) -> int:
        """The sum of those younger than the window."""
        while self._values and self._values[0][0] <= now_us - self._window_us:
            self._sum -= self._values.popleft()[1]
        return self._sum

    def age_us(self, *, now_us: int) -> int:
        """How old the oldest is; 0 when there is none."""
        return now_us - self._values[0][0] if self._values else 0
