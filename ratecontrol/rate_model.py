"""How many bits a frame takes at a quantizer, learned from the frames that were encoded."""

from __future__ import annotations

import math

from .messages import FrameKind

# Ours: log2 of the bits lost per quantizer step, to begin with.
SLOPE_START = 0.115
SLOPE_MIN, SLOPE_MAX = 0.05, 0.20
# Ours: bits of a key frame per pixel at quantizer 0, log2, until pixels or frames say better.
KEY_START = 3.0
# Ours: how much smaller the other kinds are than a key frame of the same quantizer, log2.
KIND_START = {
    FrameKind.KEY: 0.0,
    FrameKind.LTR: -2.0,
    FrameKind.DELTA: -2.5,
    FrameKind.ENHANCEMENT: -2.7,
}
# Ours: header and side information, the part of a frame that no quantizer takes away.
OVERHEAD_BITS = 160
# Ours: bits grow with pixels to this power at equal quantizer.
SIZE_EXPONENT = 0.75
GAIN = 0.3
GAIN_JUMP = 0.7
JUMP = 0.5
MAX_ERROR = 3.0


class RateModel:
    """log2(bits - overhead) falls by a straight line in the quantizer; one intercept for each kind.

    Intercepts follow the content with a fixed gain. Two errors in a row to the same side that both
    exceed JUMP are a change of content, not noise, and are followed at once.
    """

    def __init__(self) -> None:
        self.slope = SLOPE_START
        self._level = {kind: KEY_START + offset for kind, offset in KIND_START.items()}
        self._last_error = dict.fromkeys(FrameKind, 0.0)
        self._seen: set[FrameKind] = set()

    def bits(self, kind: FrameKind, *, quantizer: float, pixels: int) -> float:
        """Expected size of a frame of kind at a coded size of pixels."""
        return OVERHEAD_BITS + math.exp2(
            self._level[kind] - self.slope * quantizer + SIZE_EXPONENT * math.log2(pixels)
        )

    def quantizer(self, kind: FrameKind, *, bits: float, pixels: int) -> float:
        """The quantizer at which a frame of kind is expected to take this many bits."""
        payload = max(bits - OVERHEAD_BITS, 1.0)
        level = self._level[kind] + SIZE_EXPONENT * math.log2(pixels)
        return (level - math.log2(payload)) / self.slope

    def knows(self, kind: FrameKind) -> bool:
        """Whether a frame of this kind has been seen."""
        return kind in self._seen

    def observe(self, kind: FrameKind, *, quantizer: int, pixels: int, bits: int) -> None:
        """Learn from a frame that was encoded."""
        error = _log_payload(bits) - math.log2(
            self.bits(kind, quantizer=quantizer, pixels=pixels) - OVERHEAD_BITS
        )
        first = kind not in self._seen
        self._move(kind, error * self._gain(kind, error))
        self._last_error[kind] = error
        if first:
            self._seen.add(kind)
            for other in FrameKind:
                if other not in self._seen:
                    self._level[other] += error

    def observe_pair(self, *, steps: int, bits: int, bits_coarser: int) -> None:
        """Learn the slope from one picture encoded twice, the second time steps coarser."""
        slope = (_log_payload(bits) - _log_payload(bits_coarser)) / steps
        self.slope += 0.1 * (min(max(slope, SLOPE_MIN), SLOPE_MAX) - self.slope)

    def _gain(self, kind: FrameKind, error: float) -> float:
        if kind not in self._seen:
            return 1.0
        last = self._last_error[kind]
        return GAIN_JUMP if min(abs(error), abs(last)) > JUMP and error * last > 0 else GAIN

    def _move(self, kind: FrameKind, change: float) -> None:
        self._level[kind] += min(max(change, -MAX_ERROR), MAX_ERROR)


def _log_payload(bits: int) -> float:
    return math.log2(max(bits - OVERHEAD_BITS, 8))
