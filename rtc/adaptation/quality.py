"""What a picture is expected to look like: PSNR of what is on the screen, by operation and rate.

Measured by `python -m tests.bench.operations` on five clips at 640x360 (the project's scene, foreman, two talking
heads and a room), mean PSNR-Y in dB of 45 pictures at 50, 100, 200, 400 and 800 kbit/s of 30 a second. Repeats
count: each captured picture is compared with what is on the screen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from ...codecs.types import FULL_SIZE, Codec
from .operation import Operation
from .operations import HALF, QUARTER
from .situation import Situation

MICRO = 1_000_000
Row = tuple[float, ...]

# Bits a pixel of a whole picture at the lowest of the five rates, each of which doubles the one before.
_FIRST_BITS = 50_000 / (30 * 640 * 360)
# AV1 of half the size is the "ultralow" preset. libaom shrinks with a smooth filter; H.264's pictures are shrunk by
# area average, so their ceiling is higher.
_ROWS: Mapping[tuple[Codec, Fraction], Row] = MappingProxyType(
    {
        (Codec.AV1, FULL_SIZE): (36.1, 38.8, 41.3, 43.4, 45.5),
        (Codec.AV1, HALF): (35.4, 37.1, 38.3, 39.0, 39.5),
        (Codec.AV1, QUARTER): (31.4, 31.9, 32.1, 32.2, 32.3),
        (Codec.H264, FULL_SIZE): (28.7, 35.2, 39.2, 41.9, 44.2),
        (Codec.H264, HALF): (33.6, 36.5, 38.5, 39.9, 41.1),
        (Codec.H264, QUARTER): (33.4, 34.5, 35.1, 35.5, 35.7),
    }
)
# What other presets differ by from the default one at the full size.
_PRESETS: Mapping[str, Row] = MappingProxyType(
    {
        "low": (-0.6, -1.1, -0.9, -1.1, -1.3),
        "high": (0.5, 0.8, 0.7, 0.9, 1.1),
        "best": (0.8, 1.2, 1.2, 1.3, 1.3),
    }
)
# What every second and every third picture costs at the same rate (AV1; H.264's are alike).
_EVERIES: Mapping[int, Row] = MappingProxyType(
    {2: (-0.3, -0.7, -1.4, -2.0, -2.6), 3: (-1.9, -2.5, -3.5, -4.6, -5.7)}
)
# Ours: neither PSNR nor VMAF knows that motion is fluent.
_UNEVEN_DB: Mapping[int, float] = MappingProxyType({2: 1.0, 3: 3.0})


def expected_db(operation: Operation, situation: Situation) -> float:
    """PSNR to expect of the screen, each captured picture compared with what is shown for it."""
    width, height = situation.size
    bits = situation.target_bps * situation.gap_us / MICRO / (width * height)
    at = math.log2(max(bits, 1e-9) / _FIRST_BITS)
    row = _ROWS.get((operation.codec, situation.scale(operation)), _ROWS[Codec.AV1, QUARTER])
    quality_db = _read(row, at)
    if operation.preset in _PRESETS:
        quality_db += _read(_PRESETS[operation.preset], _within(at))
    every = max(operation.every, situation.rate_every)
    if every > 1:
        every = min(every, max(_EVERIES))
        quality_db += _read(_EVERIES[every], _within(at)) - _UNEVEN_DB[every]
    return quality_db


def _read(row: Row, at: float) -> float:
    """Between the measured rates on a straight line, and beyond on the last one."""
    index = min(max(math.floor(at), 0), len(row) - 2)
    return row[index] + (row[index + 1] - row[index]) * (at - index)


def _within(at: float) -> float:
    """Differences do not go on growing where nothing was measured."""
    return min(max(at, 0.0), 4.0)
