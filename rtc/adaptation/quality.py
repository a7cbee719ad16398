"""What a picture is expected to look like: PSNR of what is on the screen, by operation and rate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from ...codecs.types import FULL_SIZE, Codec
from .operation import Operation
from .situation import Situation

MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class _Curve:
    """PSNR of coding at a bit for each of the picture's pixels, what twice the bits add, and what the size allows."""

    at_one_db: float
    doubling_db: float
    most_db: float


_AV1: Mapping[Fraction, _Curve] = MappingProxyType(
    {
        FULL_SIZE: _Curve(48.0, 2.6, 60.0),
        Fraction(1, 2): _Curve(47.5, 2.4, 36.5),
        Fraction(1, 4): _Curve(46.0, 2.2, 31.0),
    }
)
_H264: Mapping[Fraction, _Curve] = MappingProxyType(
    {
        FULL_SIZE: _Curve(46.5, 3.0, 60.0),
        Fraction(1, 2): _Curve(47.0, 2.8, 36.5),
        Fraction(1, 4): _Curve(45.5, 2.6, 31.0),
    }
)
# What the presets add to the default one (docs/presets.md: BD-rates, 2.6 dB for twice the bits).
_PRESET_DB: Mapping[str, float] = MappingProxyType({"low": -0.22, "high": 0.32, "best": 0.45})
# A picture that stays on the screen for two, three intervals: what it differs from those that were due.
_REPEAT_DB: Mapping[int, float] = MappingProxyType({1: 60.0, 2: 33.0, 3: 30.0})


def expected_db(operation: Operation, situation: Situation) -> float:
    """PSNR to expect of the screen, each captured picture compared with what is shown for it."""
    every = max(operation.every, situation.rate_every)
    width, height = situation.size
    bits = situation.target_bps * situation.gap_us * every / MICRO / (width * height)
    curves = _AV1 if operation.codec is Codec.AV1 else _H264
    curve = curves.get(situation.scale(operation), curves[FULL_SIZE])
    coding_db = curve.at_one_db + curve.doubling_db * math.log2(max(bits, 1e-6))
    coding_db += _PRESET_DB.get(operation.preset, 0.0)
    repeat_db = _REPEAT_DB.get(every, _REPEAT_DB[3])
    return _together(coding_db, curve.most_db, repeat_db)


def _together(*parts_db: float) -> float:
    """PSNR of errors that add up."""
    return -10 * math.log10(sum(10 ** (-db / 10) for db in parts_db))
