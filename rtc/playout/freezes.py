"""Freezes as W3C webrtc-stats defines them (RTCInboundRtpStreamStats.freezeCount)."""

from __future__ import annotations

from collections import deque

# libwebrtc video_quality_observer: kAvgInterframeDelaysWindowSizeFrames, kMinIncreaseForFreezeMs.
WINDOW_FRAMES = 30
MIN_INCREASE_US = 150_000
# libwebrtc kMinFrameSamplesToDetectFreeze: a mean of fewer gaps says nothing yet.
MIN_SAMPLES = 5


class FreezeDetector:
    """Counts a freeze when the gap before a picture exceeds max(3 x mean, mean + 150 ms).

    The mean is over the last 30 gaps. A gap is judged when the picture that ends it is shown;
    `standing_us` tells how long the screen has stood since.
    """

    def __init__(self) -> None:
        self.count = 0
        self.total_us = 0
        self.shown_us = 0
        """From the first picture to the last: the sum of all gaps."""
        self._gaps: deque[int] = deque(maxlen=WINDOW_FRAMES)
        self._last_us: int | None = None

    def shown(self, now_us: int) -> bool:
        """Note that a picture is shown; tells whether a freeze ended with it."""
        frozen = False
        if self._last_us is not None:
            gap_us = now_us - self._last_us
            frozen = self._is_freeze(gap_us)
            self.shown_us += gap_us
            if frozen:
                self.count += 1
                self.total_us += gap_us
            self._gaps.append(gap_us)
        self._last_us = now_us
        return frozen

    def standing_us(self, now_us: int) -> int:
        """How long a freeze that has not ended yet has lasted; 0 when the picture moves."""
        if self._last_us is None:
            return 0
        gap_us = now_us - self._last_us
        return gap_us if self._is_freeze(gap_us) else 0

    def _is_freeze(self, gap_us: int) -> bool:
        if len(self._gaps) < MIN_SAMPLES:
            return False
        mean_us = sum(self._gaps) / len(self._gaps)
        return gap_us > max(3 * mean_us, mean_us + MIN_INCREASE_US)
