"""Trees as plain arrays: what a client needs of a model, scored with numpy alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .calls import Floats, Ints
from .checked import FLOAT, array, known, number, places
from .columns import FEATURES

# Ours: trees of 8 leaves are at most 7 deep; each step costs time at every score.
MAX_DEPTH = 64
# Ours: there are six operating systems.
MAX_LEVELS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Trees one after the other. A node without children is its own left and right; value is its leaf's.

    feature are places in FEATURES. chance = sigmoid(slope * (baseline + sum of leaves) + intercept).
    """

    feature: Ints
    bound: Floats
    left: Ints
    right: Ints
    missing_left: Ints
    value: Floats
    roots: Ints
    depth: int
    baseline: float
    slope: float
    intercept: float
    threshold: float

    def chance(self, row: Floats) -> float:
        """Of one row of FEATURES."""
        node = self.roots
        for _ in range(self.depth):
            seen = row[self.feature[node]]
            goes_left = (seen <= self.bound[node]) | ((seen != seen) & self.missing_left[node])
            node = np.where(goes_left, self.left[node], self.right[node])
        odds = self.baseline + float(self.value[node].sum())
        return float(1 / (1 + np.exp(-(self.slope * odds + self.intercept))))

    def arrays(self, prefix: str) -> dict[str, Any]:
        """By name, for numpy.savez."""
        numbers = (self.depth, self.baseline, self.slope, self.intercept, self.threshold)
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return {f"{prefix}_{name}": value for name, value in arrays.items()} | {
            f"{prefix}_numbers": np.array(numbers, dtype=np.float64)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A fitted HeuristicEligibility: scaled columns, then the levels of a category, then version x level."""

    columns: Ints
    middle: Floats
    spread: Floats
    weights: Floats
    category: int
    categories: int
    intercept: float
    threshold: float

    def chance(self, row: Floats) -> float:
        """Of one row of FEATURES."""
        scaled = (np.where(np.isnan(row), self.middle, row) - self.middle) / self.spread
        levels = row[self.category] == np.arange(self.categories)
        terms = np.concatenate([scaled[self.columns], levels, levels * scaled[self.category - 1]])
        return float(1 / (1 + np.exp(-(float(terms @ self.weights) + self.intercept))))

    def arrays(self, prefix: str) -> dict[str, Any]:
        """By name, for numpy.savez."""
        numbers = (self.category, self.categories, self.intercept, self.threshold)
        return {f"{prefix}_{name}": getattr(self, name) for name in _RULE_ARRAYS} | {
            f"{prefix}_numbers": np.array(numbers, dtype=np.float64)
        }


def scorer_of_arrays(arrays: Mapping[str, Any], prefix: str) -> Forest | Rule:
    """What arrays() of either gave."""
    return (
        forest_of_arrays(arrays, prefix) if f"{prefix}_roots" in arrays else _rule(arrays, prefix)
    )


def _rule(arrays: Mapping[str, Any], prefix: str) -> Rule:
    numbers = known(arrays, f"{prefix}_numbers", shape=(4,)).tolist()
    category, categories, intercept, threshold = numbers
    size, levels = (len(FEATURES),), int(number(categories, "categories", least=1, most=MAX_LEVELS))
    columns = places(arrays, f"{prefix}_columns", count=None, below=len(FEATURES))
    return Rule(
        columns=columns,
        middle=known(arrays, f"{prefix}_middle", shape=size),
        spread=known(arrays, f"{prefix}_spread", shape=size),
        weights=known(arrays, f"{prefix}_weights", shape=(len(columns) + 2 * levels,)),
        category=int(number(category, "category", least=1, most=len(FEATURES) - 1)),
        categories=levels,
        intercept=intercept,
        threshold=number(threshold, f"{prefix} threshold", least=0, most=1),
    )


def rule_of_heuristic(heuristic: Any) -> Rule:
    """A fitted HeuristicEligibility that has a category."""
    skipped = (heuristic.category, heuristic.category - 1)
    columns = [column for column in heuristic.columns if column not in skipped]
    return Rule(
        columns=np.array(columns, dtype=np.int64),
        middle=heuristic.middle_,
        spread=heuristic.spread_,
        weights=heuristic.weights_,
        category=heuristic.category,
        categories=heuristic.categories,
        intercept=heuristic.intercept_,
        threshold=heuristic.threshold_,
    )


_RULE_ARRAYS = ("columns", "middle", "spread", "weights")
_ARRAYS = ("feature", "bound", "left", "right", "missing_left", "value", "roots")


def forest_of_arrays(arrays: Mapping[str, Any], prefix: str) -> Forest:
    """What Forest.arrays gave. Raises ValueError for anything else, such as nodes that point outside."""
    numbers = known(arrays, f"{prefix}_numbers", shape=(5,)).tolist()
    depth, baseline, slope, intercept, threshold = numbers
    value = known(arrays, f"{prefix}_value", shape=(None,))
    nodes = len(value)
    pointers = {
        name: places(arrays, f"{prefix}_{name}", count=nodes, below=nodes)
        for name in ("left", "right")
    }
    return Forest(
        **pointers,
        value=value,
        feature=places(arrays, f"{prefix}_feature", count=nodes, below=len(FEATURES)),
        # A bound may be infinite: only what is unknown goes the other way.
        bound=array(arrays, f"{prefix}_bound", kind=FLOAT, shape=(nodes,)),
        missing_left=places(arrays, f"{prefix}_missing_left", count=nodes, below=2),
        roots=places(arrays, f"{prefix}_roots", count=None, below=nodes),
        depth=int(number(depth, f"{prefix} depth", least=0, most=MAX_DEPTH)),
        baseline=baseline,
        slope=slope,
        intercept=intercept,
        threshold=number(threshold, f"{prefix} threshold", least=0, most=1),
    )


def forest_of_tier(tier: Any) -> Forest:
    """A fitted SingleTier's trees."""
    # No public way leads to the nodes of HistGradientBoostingClassifier; scikit-learn 1.5 to 1.9 agree on these.
    trees = [predictors[0].nodes for predictors in tier.booster_._predictors]
    sizes = np.array([len(nodes) for nodes in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    nodes = np.concatenate(trees)
    first = np.repeat(roots, sizes)
    places = np.arange(len(nodes))
    is_leaf = nodes["is_leaf"].astype(bool)
    columns = range(tier.n_features_in_) if tier.columns is None else tier.columns
    return Forest(
        feature=np.where(is_leaf, 0, np.array(columns)[nodes["feature_idx"]]).astype(np.int64),
        bound=nodes["num_threshold"].astype(np.float64),
        left=np.where(is_leaf, places, first + nodes["left"]).astype(np.int64),
        right=np.where(is_leaf, places, first + nodes["right"]).astype(np.int64),
        missing_left=nodes["missing_go_to_left"].astype(np.int64),
        value=np.where(is_leaf, nodes["value"], 0.0),
        roots=roots,
        depth=int(nodes["depth"].max()),
        baseline=float(np.ravel(tier.booster_._baseline_prediction)[0]),
        slope=tier.slope_,
        intercept=tier.intercept_,
        threshold=tier.threshold_,
    )
