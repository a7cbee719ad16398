"""The call that a device model's own score and tier are about. Needs numpy alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..fleet.costs import DEFAULT_COSTS

USABLE_RATIO = 0.6
"""As in samples/verdict.py: what an encoder can use of the time that a picture has."""
REFERENCE_PX, REFERENCE_FPS = 640 * 360, 30.0


def tier_limit() -> float:
    """Slowness from which on the preset `default` is too slow for the reference call: the lower end."""
    cost = DEFAULT_COSTS["default"]
    frame_us = cost.encode_fixed_us + cost.encode_ns_px * REFERENCE_PX / 1000
    return USABLE_RATIO * 1e6 / REFERENCE_FPS / frame_us


def is_low_tier(slowness: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which devices are the lower end; those of unknown slowness (NaN) are."""
    return ~(slowness <= tier_limit())
