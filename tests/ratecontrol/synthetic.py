"""A codec made of formulas: sizes that behave like a video encoder's, for tests without one."""

from __future__ import annotations

import math
import random
from fractions import Fraction


class SyntheticCodec:
    """Bits fall exponentially with the quantizer, around a complexity that wanders and jumps.

    Pictures predicted from far away, at a finer quantizer than their reference or after a cut take
    more. sizes are of the picture next() moved to; encoding it again at the same quantizer and
    scale gives the same size.
    """

    def __init__(
        self, *, seed: int = 1, complexity: float = 0.0, noise: float = 0.15, cut_every: int = 0
    ) -> None:
        self._random = random.Random(seed)
        self._start = complexity
        self._noise = noise
        self._cut_every = cut_every
        self._complexity = complexity
        self._index = 0
        self._cut = False
        self._reference_quantizer = 63.0
        self._distance = 1

    def next(self) -> None:
        """Move to the next picture."""
        self._index += 1
        self._distance += 1
        pull = 0.02 * (self._start - self._complexity)
        self._complexity += pull + self._random.gauss(0, self._noise)
        self._cut = bool(self._cut_every) and self._index % self._cut_every == 0

    def bits(self, *, quantizer: int, scale: Fraction, pixels: int, key: bool) -> int:
        """Size of the present picture of this many pixels at full size."""
        coded = pixels * float(scale) ** 2
        log = 2.2 + self._complexity - 0.11 * quantizer + 0.8 * math.log2(coded)
        if not key and not self._cut:
            refinement = max(0.0, self._reference_quantizer - quantizer - 2)
            log += -2.8 + 0.5 * math.log2(self._distance) + 0.05 * refinement
        return 8 * math.ceil((150 + 2.0**log) / 8)

    def sent(self, *, quantizer: int) -> None:
        """The present picture was sent and is the reference of the next."""
        self._reference_quantizer = quantizer
        self._distance = 0
