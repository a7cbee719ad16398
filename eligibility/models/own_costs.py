"""What a device's own calibration adds to a probe: how slow it is with one preset, at one size."""

from __future__ import annotations

from ..fleet.costs import DEFAULT_COSTS, CostTable, FrameCost
from .vectors import CHEAPEST


def slowness_with_preset(
    costs: CostTable, *, slowdown: float, preset: str = CHEAPEST, width: int, height: int
) -> float:
    """What stands for the probe of a call at this size that uses no cheaper preset.

    costs are the device's own, by doctor --calibrate, slowdown how many times slower than those it is now. It is
    the slowness of a device whose cheapest preset takes as long.
    """
    px = width * height
    return slowdown * encode_us(costs[preset], px) / encode_us(DEFAULT_COSTS[CHEAPEST], px)


def encode_us(cost: FrameCost, px: int) -> float:
    """Of a frame of so many pixels, at speed 1."""
    return cost.encode_fixed_us + cost.encode_ns_px * px / 1000
