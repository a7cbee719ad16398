"""How much data stands behind a score: as many calls of this very device would tell as much."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .calls import Floats, Ints
from .columns import FEATURES, OF_MODEL, OF_PROBE, OF_SOC

MANY_CALLS = 10
"""Own calls from which on a score counts as well known (ours)."""
CLASSES = ("none", "probe", "soc", "few", "many")
Z90 = 1.645
# Ours: below one call a score says nothing; none is known better than two hundred calls would tell, as a few
# hundred device models do not show how much less than that they differ.
LEAST_CALLS, MOST_CALLS = 1.0, 200.0


def class_of(*, evidence: float, n_calls: float) -> str:
    """What a score rests on, one of CLASSES."""
    if evidence == OF_MODEL:
        return "many" if n_calls >= MANY_CALLS else "few"
    return {OF_SOC: "soc", OF_PROBE: "probe"}.get(int(evidence), "none")


def fit_strength(X: Floats, good: Ints, chance: Floats, model: Ints) -> dict[str, float]:
    """For each class, how many calls its scores are worth, by how far device models lie from them.

    chance is what was predicted for rows of models that were not learned from. A model whose calls are
    good with another probability than predicted shows as more variance than coins of that chance have;
    beta-binomial by the method of moments.
    """
    evidence, n_calls = X[:, FEATURES.index("evidence")], X[:, FEATURES.index("n_calls")]
    classes = np.array(
        [class_of(evidence=e, n_calls=n) for e, n in zip(evidence, n_calls, strict=True)]
    )
    worth = {}
    for name in CLASSES:
        rows = classes == name
        worth[name] = _worth(good[rows], chance[rows], model[rows]) if rows.any() else LEAST_CALLS
    return worth


def interval(score: float, *, calls: float) -> tuple[float, float]:
    """Wilson's score interval, 90 %, of a share seen in so many calls (E. B. Wilson, 1927)."""
    z2 = Z90 * Z90
    middle = (score + z2 / (2 * calls)) / (1 + z2 / calls)
    half = Z90 / (1 + z2 / calls) * math.sqrt(score * (1 - score) / calls + z2 / (4 * calls**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def worth_of(strength: Mapping[str, float], *, evidence: float, n_calls: float) -> float:
    """The calls that a score is worth."""
    return strength.get(class_of(evidence=evidence, n_calls=n_calls), LEAST_CALLS)


def _worth(good: Ints, chance: Floats, model: Ints) -> float:
    _, place = np.unique(model, return_inverse=True)
    trials = np.bincount(place)
    coins = np.bincount(place, chance * (1 - chance)) / trials
    gap = np.bincount(place, good - chance) / trials
    excess = float(np.average(gap**2 - coins / trials, weights=trials))
    spread = float(np.average(coins, weights=trials))
    if excess <= spread / MOST_CALLS:
        return MOST_CALLS
    return min(max(spread / excess - 1, LEAST_CALLS), MOST_CALLS)
