"""For encoders with a rate control of their own: the rate to ask of them, and when to skip."""

from __future__ import annotations

from .settings import ControllerSettings
from .vbv import MICRO

# Ours: over this time such an encoder is asked to correct the backlog; libx264 takes 300 ms to follow.
CORRECTION_US = 300_000
# Ours: what is asked stays above this part of the target.
ASKED_MIN_DIVISOR = 2
# Ours: how fast the expected size follows, and what a key frame takes against others until one came.
GAIN = 0.2
KEY_RATIO = 4.0


class OwnControl:
    """Follows the sizes that come out. One for each stream."""

    def __init__(self, settings: ControllerSettings) -> None:
        self._settings = settings
        self._bits: float | None = None
        self._key_bits: float | None = None

    def target_bps(self, target_bps: int, *, level_bits: int) -> int:
        """What to ask of the encoder at this level of the bucket, so that the mean is the target."""
        missing_bits = target_bps * self._settings.residual_us // MICRO - level_bits
        correction = missing_bits * MICRO // CORRECTION_US
        return max(target_bps // ASKED_MIN_DIVISOR, target_bps + correction, 1)

    def expected_bits(self, *, key: bool) -> int:
        """The size to expect of the next frame; 0 as long as none came."""
        bits = 0.0 if self._bits is None else self._bits
        key_bits = KEY_RATIO * bits if self._key_bits is None else self._key_bits
        if key:
            return round(key_bits)
        return round(key_bits / KEY_RATIO if self._bits is None else bits)

    def sent(self, bits: int, *, key: bool) -> None:
        """A frame of this size came out."""
        if key:
            self._key_bits = float(bits)
        else:
            before = self._bits if self._bits is not None else float(bits)
            self._bits = before + GAIN * (bits - before)
