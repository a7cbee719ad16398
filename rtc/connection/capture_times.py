"""Capture times of a track's frames on the call's clock."""

from __future__ import annotations

from fractions import Fraction

# ours: a track's clock that strays further than this from real time was paused, looped or replaced.
MAX_STRAY_US = 200_000


class CaptureTimes:
    """Maps a track's pts to the call's clock: even as the pts are, and never far from real time.

    Receivers smooth playout by the RTP timestamp, which these times become; a jump in it freezes
    the picture (libwebrtc's timestamp extrapolator), so a pts that jumps is anchored anew.
    """

    def __init__(self) -> None:
        self._offset_us: int | None = None
        self._last_us: int | None = None

    def follow(self) -> CaptureTimes:
        """The times of the track that replaces this one: anchored anew, still increasing."""
        next_times = CaptureTimes()
        next_times._last_us = self._last_us
        return next_times

    def map(self, pts: int | None, time_base: Fraction | None, *, now_us: int) -> int:
        """Capture time of a frame that arrived at now_us; strictly increasing."""
        capture_us = now_us
        if pts is not None and time_base:
            pts_us = int(pts * time_base * 1_000_000)
            if self._offset_us is None or abs(pts_us + self._offset_us - now_us) > MAX_STRAY_US:
                self._offset_us = now_us - pts_us
            # A capture time in the future would promise the receiver a latency below zero.
            self._offset_us = min(self._offset_us, now_us - pts_us)
            capture_us = pts_us + self._offset_us
        if self._last_us is not None:
            capture_us = max(capture_us, self._last_us + 1)
        self._last_us = capture_us
        return capture_us
