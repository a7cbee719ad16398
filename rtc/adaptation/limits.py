"""What an application's limits make of pictures: their size and their number."""

from __future__ import annotations

import math

from .settings import SenderLimits

MICRO = 1_000_000
# Ours: captures may exceed the limit by so much before every second one is left out; cameras are unsteady.
SLACK = 0.05


def limited_size(size: tuple[int, int], limits: SenderLimits) -> tuple[int, int]:
    """The largest even width and height of the same shape within the limits; as it is if it is."""
    width, height = size
    ratio = min(
        1.0,
        width if limits.max_width is None else limits.max_width / width,
        height if limits.max_height is None else limits.max_height / height,
    )
    if ratio == 1.0:
        return size
    # 4:2:0 halves both sides; rounding down keeps within the limits.
    return max(2, int(width * ratio) // 2 * 2), max(2, int(height * ratio) // 2 * 2)


def limited_every(gap_us: int, limits: SenderLimits) -> int:
    """One of how many captured pictures is sent for the limit's sake."""
    if limits.max_fps is None:
        return 1
    return max(1, math.ceil(MICRO / gap_us / limits.max_fps - SLACK))
