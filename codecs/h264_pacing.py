"""What rate to ask of libx264 when pictures come at another pace than it was told."""

from __future__ import annotations

from fractions import Fraction

# Ours: a gap counts by an eighth, and for at most four times the mean so far. With random gaps of
# 0 to 70 ms libx264 stays as near its target as at a steady 30 fps (97 %), and a pause of seconds
# raises the rate by three eighths for some frames, out of what the pause left unused.
GAP_GAIN = Fraction(1, 8)
GAP_LIMIT = 4
# Ours: a longer gap counts as this. A frame of all its bits would leave no room within the delay bound of 200 ms for
# the pictures behind it, so that gaps that something else had caused, such as a busy processor, stayed for good: two
# frames of 460 kbit a second at 1.1 Mbit/s. At 120 ms the pace is back within 2 s, at 150 ms within 4.
GAP_MAX_US = Fraction(120_000)


class NominalRate:
    """Translates rates for libx264, which takes every frame for 1 / fps seconds long.

    It can count with timestamps, but then holds each frame back until the next is there.
    """

    def __init__(self, fps: Fraction) -> None:
        self._nominal_us = 1_000_000 / fps
        self._mean_us = self._nominal_us
        self._last_us: int | None = None

    def add(self, capture_us: int) -> None:
        """Take in the next picture's time; times that do not grow tell nothing."""
        gap_us = 0 if self._last_us is None else capture_us - self._last_us
        self._last_us = capture_us
        if gap_us > 0:
            bounded_us = min(Fraction(gap_us), GAP_LIMIT * self._mean_us, GAP_MAX_US)
            mean_us = self._mean_us + (bounded_us - self._mean_us) * GAP_GAIN
            self._mean_us = mean_us.limit_denominator(1000)

    def nominal_bps(self, target_bps: int) -> int:
        """What to ask of the codec so that it makes target_bps of the pictures' own time."""
        return round(target_bps * self._mean_us / self._nominal_us)
