"""The sizes at which a picture may be coded, and when to change between them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

SCALES = (Fraction(1), Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))
# Ours: quantizers around which the size changes, and for how long the mean must stay there.
DOWN_QUANTIZER = 61.0
UP_QUANTIZER = 42.0
HOLD_US = 700_000
GAIN_US = 300_000

Size = tuple[int, int]


def coded_size(width: int, height: int, scale: Fraction) -> Size:
    """Width and height at which a picture is coded at scale, in pixels, rounded up."""
    up = scale.denominator - 1
    return (
        (width * scale.numerator + up) // scale.denominator,
        (height * scale.numerator + up) // scale.denominator,
    )


def legal_scales(width: int, height: int, references: Iterable[Size]) -> tuple[Fraction, ...]:
    """Scales, largest first, that every reference allows (AV1 specification, section 7.9).

    A frame is at most 2 times smaller and 16 times larger than each reference that it uses.
    """
    known = tuple(references)
    return tuple(s for s in SCALES if _allowed(coded_size(width, height, s), known))


def _allowed(size: Size, references: tuple[Size, ...]) -> bool:
    width, height = size
    return min(size) >= 16 and all(
        2 * width >= rw and 2 * height >= rh and width <= 16 * rw and height <= 16 * rh
        for rw, rh in references
    )


class SizeLadder:
    """Asks for a smaller size when the quantizer starves, for a larger one when it thrives."""

    def __init__(self) -> None:
        self.scale = SCALES[0]
        self._mean = 0.5 * (DOWN_QUANTIZER + UP_QUANTIZER)
        self._since_us: int | None = None
        self._last_us: int | None = None

    def sent(self, *, scale: Fraction, quantizer: float, now_us: int) -> None:
        """A frame was sent at scale and quantizer; may change the size of the next."""
        if scale != self.scale:
            self._move_to(scale, now_us)
            return
        elapsed_us = 0 if self._last_us is None else now_us - self._last_us
        self._last_us = now_us
        self._mean += (quantizer - self._mean) * min(1.0, elapsed_us / GAIN_US)
        if self._since_us is None:
            self._since_us = now_us
        if now_us - self._since_us < HOLD_US:
            return
        index = SCALES.index(self.scale)
        if self._mean > DOWN_QUANTIZER and index + 1 < len(SCALES):
            self._move_to(SCALES[index + 1], now_us)
        elif self._mean < UP_QUANTIZER and index > 0:
            self._move_to(SCALES[index - 1], now_us)

    def _move_to(self, scale: Fraction, now_us: int) -> None:
        self.scale = scale
        self._mean = 0.5 * (DOWN_QUANTIZER + UP_QUANTIZER)
        self._since_us = self._last_us = now_us
