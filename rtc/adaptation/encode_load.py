"""Whether the encoder keeps up: the part of the frame interval that frames take, and pictures that find it busy."""

from __future__ import annotations

from collections import deque

# As libwebrtc's CpuOveruseOptions.high_encode_usage_threshold_percent.
HIGH_RATIO = 0.85
# Ours: so many frames in a row above it; libwebrtc means over seconds, in which sound and pictures part.
HIGH_FRAMES = 3
# libwebrtc's LibaomAv1Encoder discounts a key frame's time by 3.5; ours: the finer frame a second, too.
ANCHOR_DISCOUNT = 3.5
# Ours: so many pictures that replace one that still waits, within this time. Two of them would come of two
# single frames that took four times as long, once a second each.
BUSY_PICTURES = 4
BUSY_WITHIN_US = 1_000_000


class EncodeLoad:
    """Follows one encoder; begins anew with each operation."""

    def __init__(self) -> None:
        self._high = 0
        self._sum_ratio = 0.0
        self._busy_us: deque[int] = deque(maxlen=BUSY_PICTURES)

    def begin(self) -> None:
        """What was measured was of another operation."""
        self._high, self._sum_ratio = 0, 0.0
        self._busy_us.clear()

    def frame(self, encode_us: int, *, interval_us: int, is_anchor: bool) -> None:
        """A frame took so long in all its tries; is_anchor for key frames and the finer ones."""
        ratio = encode_us / (interval_us * (ANCHOR_DISCOUNT if is_anchor else 1))
        if ratio >= HIGH_RATIO:
            self._high, self._sum_ratio = self._high + 1, self._sum_ratio + ratio
        elif not is_anchor:
            self._high, self._sum_ratio = 0, 0.0

    def picture_waited(self, now_us: int) -> None:
        """A picture replaces one that waited for the encoder."""
        self._busy_us.append(now_us)

    @property
    def overload_ratio(self) -> float | None:
        """The part of the interval that frames take where that is too much; 1 for pictures that wait."""
        if self._high >= HIGH_FRAMES:
            return self._sum_ratio / self._high
        is_busy = len(self._busy_us) == BUSY_PICTURES
        if is_busy and self._busy_us[-1] - self._busy_us[0] <= BUSY_WITHIN_US:
            return 1.0
        return None
