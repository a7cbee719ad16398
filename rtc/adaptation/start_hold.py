"""Keeps a stream to the size and pace that it began with, until it is seen that the devices carry more."""

from __future__ import annotations

import math

from .limits import MICRO, limited_size
from .selector import IMPROVE_US, LOOK_US
from .settings import SenderLimits, StartPoint

# Ours: how much faster captures may seem than the pace before some are left out; on a busy machine the first ones
# come in bursts, and nobody set the pace to the picture.
SLACK = 0.25


class StartHold:
    """Follows one stream; without a start nothing is held. Looks as often and as long as the selector does."""

    def __init__(self, start: StartPoint | None) -> None:
        self._start = start
        self._sides: tuple[SenderLimits, ...] = ()
        """Of pictures that are wider than high, and of others."""
        if start is not None:
            sides = (start.max_width, start.max_height)
            self._sides = tuple(
                SenderLimits(max_width=width, max_height=height)
                for width, height in (sides, sides[::-1])
            )
        self._look_us: int | None = None
        self._fits_since_us: int | None = None

    def size(self, size: tuple[int, int]) -> tuple[int, int]:
        """What is left of a picture's width and height."""
        if self._start is None:
            return size
        return limited_size(size, self._sides[size[0] < size[1]])

    def every(self, gap_us: int) -> int:
        """One of how many captured pictures is sent."""
        if self._start is None:
            return 1
        return max(1, math.ceil(MICRO / gap_us / self._start.max_fps - SLACK))

    def is_due(self, *, now_us: int) -> bool:
        """Whether to look if more fits. A stream that has just begun shows nothing yet."""
        if self._start is None or (self._look_us is not None and now_us < self._look_us):
            return False
        is_first, self._look_us = self._look_us is None, now_us + LOOK_US
        return not is_first

    def may_end(self, *, fits: bool, now_us: int) -> bool:
        """Take what such a look came to; tells whether that was so for long enough."""
        if not fits:
            self._fits_since_us = None
            return False
        if self._fits_since_us is None:
            self._fits_since_us = now_us
        return now_us - self._fits_since_us >= IMPROVE_US

    def end(self) -> None:
        """Hold nothing any more."""
        self._start = None
