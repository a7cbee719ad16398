"""What a frame costs on the reference machine, whose speed is 1: a device of speed 0.25 takes four times as long."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ...codecs.errors import LocalError

# Ours: a minute for one picture; beyond that a file does not tell of a machine that holds calls.
MAX_COST_US = 60_000_000
# Ours: what doctor writes has under 10 000.
MAX_FILE_CHARACTERS = 1 << 20
# Brackets without end, and integers that no float holds.
NO_NUMBERS = (RecursionError, OverflowError)
AV1_PRESETS = ("ultralow", "low", "default", "high", "best")
"""Cheapest first, the names of codecs/av1_presets.py."""
H264 = "H264"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameCost:
    """CPU time of a frame on one thread: a part for the frame, and nanoseconds a pixel asked for."""

    encode_fixed_us: float
    encode_ns_px: float
    decode_fixed_us: float
    decode_ns_px: float


CostTable = Mapping[str, FrameCost]
"""A cost for each AV1 preset, and for H264."""


def _cost(*values: float) -> FrameCost:
    names = ("encode_fixed_us", "encode_ns_px", "decode_fixed_us", "decode_ns_px")
    return FrameCost(**dict(zip(names, values, strict=True)))


# Measured 2026-11-30 by `codecpilot doctor --calibrate` on three talking-head clips, one core of a two-core x86-64
# cloud machine with AVX-512. ultralow codes half the size, so its cost a pixel asked for is small.
DEFAULT_COSTS: CostTable = MappingProxyType(
    {
        "ultralow": _cost(66, 1.85, 13, 0.46),
        "low": _cost(90, 4.32, 28, 1.11),
        "default": _cost(99, 4.84, 36, 1.47),
        "high": _cost(0, 8.21, 35, 1.88),
        "best": _cost(192, 10.1, 63, 1.50),
        H264: _cost(76, 4.51, 28, 1.09),
    }
)


def read_costs(path: Path) -> CostTable:
    """What `codecpilot doctor --calibrate --json` wrote, fitted over its sizes. Raises LocalError."""
    try:
        with path.open(encoding="utf-8") as file:
            rows = json.loads(file.read(MAX_FILE_CHARACTERS))["costs"]
        names = [*AV1_PRESETS, H264]
        return {name: _fitted([row for row in rows if _name(row) == name]) for name in names}
    except OSError as error:
        raise LocalError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, *NO_NUMBERS) as error:
        raise LocalError(f"{path} is not what codecpilot doctor --calibrate writes") from error


def _name(row: Mapping[str, Any]) -> str:
    return H264 if row["codec"] == H264 else str(row["preset"])


def _fitted(rows: Sequence[Mapping[str, Any]]) -> FrameCost:
    """Least squares over the sizes; a part that would be below 0 is 0."""
    pixels = [float(row["width"]) * float(row["height"]) for row in rows]
    encode = _line(pixels, [float(row["encode_us"]) for row in rows])
    return _cost(*encode, *_line(pixels, [float(row["decode_us"]) for row in rows]))


def _line(pixels: Sequence[float], times_us: Sequence[float]) -> tuple[float, float]:
    """Fixed us and ns a pixel. Relative errors count, so small sizes weigh as large ones."""
    px, us = np.asarray(pixels), np.asarray(times_us)
    if len(px) < 2 or not (np.isfinite(us).all() and (us > 0).all() and (us < MAX_COST_US).all()):
        raise ValueError("two sizes at least, with times above 0")
    terms = np.stack([1 / us, px / 1000 / us], axis=1)
    fixed, slope = np.linalg.lstsq(terms, np.ones(len(px)), rcond=None)[0]
    if fixed < 0:
        fixed, slope = 0.0, float(np.median(us * 1000 / px))
    return float(fixed), max(float(slope), 1e-3)
