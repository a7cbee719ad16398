"""The expected time between two pictures, from capture times that may be irregular."""

from __future__ import annotations

# Ours: 30 pictures a second until two were seen.
GAP_START_US = 33_333
GAP_MIN_US = 1_000
# Ours: a camera that stops for longer than this has paused; the pause says nothing of its rate.
GAP_MAX_US = 300_000
# Ours: one over the number of gaps that the mean follows.
GAIN_DIVISOR = 8


class CaptureClock:
    """Mean gap between pictures, dropped ones included, in whole microseconds."""

    def __init__(self) -> None:
        self._gap_us = GAP_START_US
        self._last_us: int | None = None

    @property
    def gap_us(self) -> int:
        """The gap to expect before the next picture."""
        return self._gap_us

    def picture(self, now_us: int) -> None:
        """A picture was captured at now_us."""
        if self._last_us is not None:
            gap_us = min(max(now_us - self._last_us, GAP_MIN_US), GAP_MAX_US)
            self._gap_us += (gap_us - self._gap_us) // GAIN_DIVISOR
        self._last_us = now_us
