"""A codec made of formulas: sizes that behave like a video encoder's, for tests without one."""

from __future__ import annotations

import math
import random
from fractions import Fraction


class SyntheticCodec:
    """Bits fall exponentially with the quantizer, around a complexity that wanders and jumps.

    Pictures predicted from far away, at a finer quantizer or another size than their reference or
    across a cut take more. Sizes are of the picture that next() moved to; encoding it again at the
    same quantizer and scale gives the same size. At complexity 2 and 640x360, frames at quantizer
    30 take about 6 kbit, key frames 37.
    """

    def __init__(
        self, *, seed: int = 1, complexity: float = 2.0, noise: float = 0.15, cut_every: int = 0
    ) -> None:
        self._random = random.Random(seed)
        self._start = complexity
        self._noise = noise
        self._cut_every = cut_every
        self._complexity = complexity
        self._index = 0
        self._cut = False
        self._reference_quantizer = 63.0
        self._reference_scale = Fraction(1)
        self._distance = 0

    def next(self) -> None:
        """Move to the next picture."""
        self._index += 1
        self._distance += 1
        pull = 0.02 * (self._start - self._complexity)
        self._complexity += pull + self._random.gauss(0, self._noise)
        if self._cut_every and self._index % self._cut_every == 0:
            # Until something is sent: what follows a dropped cut is predicted from before it too.
            self._cut = True
            self._complexity = self._start + self._random.gauss(0, 0.7)

    def bits(self, *, quantizer: int, scale: Fraction, pixels: int, key: bool) -> int:
        """Size of the present picture of this many pixels at full size."""
        coded = pixels * float(scale) ** 2
        log = 2.2 + self._complexity - 0.11 * quantizer + 0.8 * math.log2(coded)
        if not key and not self._cut:
            refinement = max(0.0, self._reference_quantizer - quantizer - 2)
            log += -2.8 + 0.5 * math.log2(self._distance) + 0.05 * refinement
            if scale > self._reference_scale:
                log += 1.0
        return 8 * math.ceil((150 + 2.0**log) / 8)

    def sent(self, *, quantizer: int, scale: Fraction) -> None:
        """The present picture was sent and is the reference of the next."""
        self._reference_quantizer, self._reference_scale = quantizer, scale
        self._distance = 0
        self._cut = False
