"""The versions of the model, each a way to make an estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from .columns import FEATURES, HEURISTIC, HEURISTIC_SIZE, HIGH, LOW, V11, directions, places
from .estimators import HeuristicEligibility, SingleTier, TwoTier
from .reference import tier_limit

Estimator = HeuristicEligibility | SingleTier | TwoTier


def _heuristic() -> Estimator:
    return HeuristicEligibility(columns=places(HEURISTIC), category=FEATURES.index("os_code"))


def _heuristic_with_size() -> Estimator:
    return HeuristicEligibility(columns=places(HEURISTIC_SIZE), category=FEATURES.index("os_code"))


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
    {
        "heuristic": _heuristic,
        "heuristic-size": _heuristic_with_size,
        "v1.1": _single,
        "v2": _two_tiers,
    }
)
