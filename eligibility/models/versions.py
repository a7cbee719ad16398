"""The versions of the model, each a way to make an estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..fleet.costs import DEFAULT_COSTS
from .columns import FEATURES, HEURISTIC, HIGH, LOW, V11, directions, places
from .estimators import HeuristicEligibility, SingleTier, TwoTier

Estimator = HeuristicEligibility | SingleTier | TwoTier

USABLE_RATIO = 0.6
"""As in samples/verdict.py: what an encoder can use of the time that a picture has."""
REFERENCE_PX, REFERENCE_FPS = 640 * 360, 30.0
"""What a device model's own score and its tier are about."""


def tier_limit() -> float:
    """Slowness from which on the preset `default` is too slow for 640x360 at 30 fps: the lower end."""
    cost = DEFAULT_COSTS["default"]
    frame_us = cost.encode_fixed_us + cost.encode_ns_px * REFERENCE_PX / 1000
    return USABLE_RATIO * 1e6 / REFERENCE_FPS / frame_us


def _heuristic() -> Estimator:
    return HeuristicEligibility(columns=places(HEURISTIC), category=FEATURES.index("os_code"))


def _single() -> Estimator:
    return SingleTier(columns=places(V11), monotonic=directions(V11))


def _two_tiers() -> Estimator:
    return TwoTier(
        tier_column=FEATURES.index("slowness"),
        tier_limit=tier_limit(),
        low=SingleTier(columns=places(LOW), monotonic=directions(LOW)),
        high=SingleTier(columns=places(HIGH), monotonic=directions(HIGH)),
    )


VERSIONS: Mapping[str, Callable[[], Estimator]] = MappingProxyType(
    {"heuristic": _heuristic, "v1.1": _single, "v2": _two_tiers}
)


def is_low_tier(slowness: object) -> object:
    """Whether devices of this slowness are the lower end; those of unknown slowness are."""
    return ~(slowness <= tier_limit())  # type: ignore[operator]
