"""Why a stream is sent at less than its best, as W3C webrtc-stats names and counts it.

https://www.w3.org/TR/webrtc-stats/#dom-rtcoutboundrtpstreamstats-qualitylimitationreason
"""

from __future__ import annotations

from enum import StrEnum

# Ours: how fast the part of pictures follows that found the encoder busy (32 pictures are a second), and
# the parts from which on, and until which, the processor is the limit: four in a row, or a tenth.
BUSY_GAIN = 1 / 32
BUSY_FROM = 0.1
BUSY_UNTIL = 0.04
# Ours: more counts as this much, so that the limit is over within 2 s of the last.
BUSY_MAX = 0.2
# Ours: a rate within this part of what the application asks for limits nothing that is seen.
RATE_SPARE = 0.05

Size = tuple[int, int]


class QualityLimitationReason(StrEnum):
    """RTCQualityLimitationReason."""

    NONE = "none"
    CPU = "cpu"
    BANDWIDTH = "bandwidth"
    OTHER = "other"


class QualityLimitation:
    """Follows one stream. The processor's limit comes before the path's, as in libwebrtc."""

    def __init__(self, *, now_us: int) -> None:
        self.resolution_changes = 0
        """qualityLimitationResolutionChanges: changes of the coded size that the source did not ask for."""
        self.reason = QualityLimitationReason.NONE
        self._durations_us = dict.fromkeys(QualityLimitationReason, 0)
        self._since_us = now_us
        self._busy_ratio = 0.0
        self._is_busy = False
        self._is_starved = False
        self._device: QualityLimitationReason | None = None
        self._sizes: tuple[Size, Size] | None = None

    def picture(self, *, replaced: bool, now_us: int) -> None:
        """A picture was captured; replaced tells that the one before still waited for the encoder."""
        busy_ratio = self._busy_ratio + (replaced - self._busy_ratio) * BUSY_GAIN
        self._busy_ratio = min(busy_ratio, BUSY_MAX)
        self._is_busy = self._busy_ratio > (BUSY_UNTIL if self._is_busy else BUSY_FROM)
        self._update(now_us)

    def rate(self, target_bps: int, *, max_bps: int, now_us: int) -> None:
        """The encoder is asked for target_bps where the application would have max_bps."""
        self._is_starved = target_bps < max_bps * (1 - RATE_SPARE)
        self._update(now_us)

    def device(self, reason: QualityLimitationReason | None, *, now_us: int) -> None:
        """What of the devices holds the stream back, if anything does."""
        self._device = reason
        self._update(now_us)

    def coded(self, size: Size, *, picture: Size) -> None:
        """A frame was coded at this size of a picture of that size."""
        before, self._sizes = self._sizes, (size, picture)
        if before is not None and before[1] == picture and before[0] != size:
            self.resolution_changes += 1

    def durations_us(self, *, now_us: int) -> dict[QualityLimitationReason, int]:
        """qualityLimitationDurations up to now: all four reasons, together the stream's time."""
        durations_us = dict(self._durations_us)
        durations_us[self.reason] += max(0, now_us - self._since_us)
        return durations_us

    def _update(self, now_us: int) -> None:
        if self._is_busy:
            reason = QualityLimitationReason.CPU
        elif self._device is not None:
            reason = self._device
        elif self._is_starved:
            reason = QualityLimitationReason.BANDWIDTH
        else:
            reason = QualityLimitationReason.NONE
        if reason is not self.reason:
            self._durations_us = self.durations_us(now_us=now_us)
            self.reason, self._since_us = reason, max(now_us, self._since_us)
