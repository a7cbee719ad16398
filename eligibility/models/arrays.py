"""Trees as plain arrays: what a client needs of a model, scored with numpy alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .calls import Floats, Ints


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
    category, categories, intercept, threshold = arrays[f"{prefix}_numbers"].tolist()
    return Rule(
        **{name: arrays[f"{prefix}_{name}"] for name in _RULE_ARRAYS},
        category=int(category),
        categories=int(categories),
        intercept=intercept,
        threshold=threshold,
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
    """What Forest.arrays gave. Raises ValueError where a node points outside of its arrays."""
    depth, baseline, slope, intercept, threshold = arrays[f"{prefix}_numbers"].tolist()
    parts = {name: arrays[f"{prefix}_{name}"] for name in _ARRAYS}
    nodes = len(parts["value"])
    for name in ("left", "right", "roots"):
        if len(parts[name]) and not 0 <= parts[name].min() <= parts[name].max() < nodes:
            raise ValueError(f"{prefix}_{name} points outside of {nodes} nodes")
    return Forest(
        **parts,
        depth=int(depth),
        baseline=baseline,
        slope=slope,
        intercept=intercept,
        threshold=threshold,
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
