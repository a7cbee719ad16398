"""The sizes at which a picture may be coded, and when to change between them."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache

FULL, HALF, QUARTER = Fraction(1), Fraction(1, 2), Fraction(1, 4)
SCALES = (FULL, HALF, QUARTER)
"""Ours: 3/4 is legal too, but on six clips 1/2 looked better (VMAF, PSNR) wherever 3/4 beat 1."""

# Ours: on the same clips the smaller size gave the better VMAF where the larger needed a quantizer
# above 46 to 57 (1 against 1/2; mean 52) and 52 to 63 (1/2 against 1/4); the smaller one then needed
# 32 to 44 (mean 38) and 40 to 50. Down is a little later than that, so as not to swing.
DOWN = {FULL: 56.0, HALF: 61.0}
UP = {HALF: 39.0, QUARTER: 42.0}
# Ours: text is read only at its own size, so there the coarsest quantizer comes first.
DOWN_TEXT = {FULL: 63.0}
UP_TEXT = {HALF: 54.0, QUARTER: 63.0}
# Ours: how far, times how long, the quantizer goes beyond before the size follows. A switch costs a
# few hundred milliseconds of quality, so a short starvation is sat through.
DOWN_STEPS_US = 2_000_000
UP_STEPS_US = 4_000_000
# Ours: a gap between pictures counts for at most this long.
GAP_MAX_US = 100_000
# AV1 specification, section 7.11.3.3: the most that a frame is smaller and larger than a reference.
SHRINK_MAX, GROW_MAX = 2, 16
# Ours: one superblock; coding at smaller sizes saves nothing.
SIDE_MIN_PX = 64

Size = tuple[int, int]


def coded_size(width: int, height: int, scale: Fraction) -> Size:
    """Width and height at which a picture is coded at scale, in pixels, rounded up."""
    up = scale.denominator - 1
    return (
        (width * scale.numerator + up) // scale.denominator,
        (height * scale.numerator + up) // scale.denominator,
    )


@lru_cache(maxsize=256)
def legal_scales(width: int, height: int, held: frozenset[Size]) -> tuple[Fraction, ...]:
    """Scales, largest first, at which a frame may be coded whose slots hold these coded sizes."""
    sizes = {scale: coded_size(width, height, scale) for scale in SCALES}
    return tuple(
        scale
        for scale, size in sizes.items()
        if (scale == FULL or min(size) >= SIDE_MIN_PX) and _allowed(size, held)
    )


def _allowed(size: Size, held: frozenset[Size]) -> bool:
    return all(
        SHRINK_MAX * side >= held_side and side <= GROW_MAX * held_side
        for held_size in held
        for side, held_side in zip(size, held_size, strict=True)
    )


class SizeLadder:
    """Asks for a smaller size when the quantizer starves, for a larger one when it thrives."""

    def __init__(self) -> None:
        self.scale = FULL
        self._starved = 0.0
        self._thriven = 0.0
        self._last_us: int | None = None

    def nearest(self, legal: Collection[Fraction]) -> Fraction:
        """The wanted scale, or the legal one nearest to it."""
        if self.scale in legal:
            return self.scale
        return min(legal, key=lambda scale: abs(scale - self.scale))

    def forced(self, scale: Fraction) -> None:
        """A frame had to be sent at this scale; stay there."""
        if scale != self.scale:
            self._move(scale)

    def steered(
        self,
        quantizer: float,
        *,
        now_us: int,
        keeps_size: bool = False,
        coded: Fraction | None = None,
    ) -> None:
        """Steering wants this quantizer at the present size; may change the size of what follows.

        keeps_size is for content that suffers more from a smaller size than from coarseness. coded is
        the scale in use where the encoder is held below the one that the rate would allow.
        """
        scale = self.scale if coded is None else coded
        down, up = (DOWN_TEXT, UP_TEXT) if keeps_size else (DOWN, UP)
        elapsed_us = 0 if self._last_us is None else min(now_us - self._last_us, GAP_MAX_US)
        self._last_us = now_us
        index = SCALES.index(scale)
        if scale in down:
            self._starved = max(0.0, self._starved + elapsed_us * (quantizer - down[scale]))
        if scale == self.scale and scale in up:
            self._thriven = max(0.0, self._thriven + elapsed_us * (up[self.scale] - quantizer))
        if self._starved > DOWN_STEPS_US:
            self._move(SCALES[index + 1])
        elif self._thriven > UP_STEPS_US:
            self._move(SCALES[index - 1])

    def _move(self, scale: Fraction) -> None:
        self.scale, self._starved, self._thriven = scale, 0.0, 0.0
