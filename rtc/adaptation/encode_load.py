"""Whether the encoder keeps up: the part of the frame interval that frames take, all tries and waiting included."""

from __future__ import annotations

# As libwebrtc's CpuOveruseOptions.high_encode_usage_threshold_percent.
HIGH_RATIO = 0.85
# Ours: so many frames in a row above it; libwebrtc means over seconds, in which sound and pictures part.
HIGH_FRAMES = 3
# Ours: a frame that takes so many intervals counts for two; single slow frames take three or four times as long.
VERY_HIGH_RATIO = 3.0
# libwebrtc's LibaomAv1Encoder discounts a key frame's time by 3.5; ours: the finer frame a second, too, and
# what is left counts for half a frame, since it tells little of the others.
ANCHOR_DISCOUNT = 3.5
ANCHOR_WEIGHT = 0.5
# Ours: the usual part follows within a second.
USUAL_GAIN = 1 / 30


class EncodeLoad:
    """Follows one encoder; begins anew with each operation."""

    def __init__(self) -> None:
        self.usual_ratio: float | None = None
        """What ordinary frames take of their interval while that is not too much."""
        self._high = self._sum_ratio = 0.0

    def begin(self) -> None:
        """What was measured was of another operation."""
        self.usual_ratio = None
        self._high = self._sum_ratio = 0.0

    def frame(self, encode_us: int, *, interval_us: int, is_anchor: bool) -> None:
        """A frame took so long from its job to its result; is_anchor for key frames and the finer ones."""
        ratio, weight = encode_us / interval_us, 1.0
        if is_anchor:
            ratio, weight = ratio / ANCHOR_DISCOUNT, ANCHOR_WEIGHT
        elif ratio >= VERY_HIGH_RATIO:
            weight = 2.0
        if ratio >= HIGH_RATIO:
            self._high += weight
            self._sum_ratio += weight * ratio
        elif not is_anchor:
            self._high = self._sum_ratio = 0.0
            usual = ratio if self.usual_ratio is None else self.usual_ratio
            self.usual_ratio = usual + USUAL_GAIN * (ratio - usual)

    @property
    def overload_ratio(self) -> float | None:
        """The part of the interval that frames take where that is too much."""
        return self._sum_ratio / self._high if self._high >= HIGH_FRAMES else None
