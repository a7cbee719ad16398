"""Boosted trees with a calibrated probability, both from grouped cross-fitting: one model, one tier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from .binary import BinaryClassifier, two_classes

Floats = npt.NDArray[np.float64]

BAD_RATIO = 0.02
"""Share of calls on AV1 that may be bad, which thresholds are set for: what was asked of the score."""
# Ours: log-odds beyond these say no more.
LEAST, MOST = 1e-6, 1 - 1e-6


class SingleTier(BinaryClassifier):
    """The chance of the second of two classes, by monotonic boosted trees and Platt's sigmoid.

    columns are the places of the columns that it looks at, None for all; monotonic is -1, 0 or 1 for each of
    them. The sigmoid and `threshold_` are fitted to predictions for groups that the trees had not seen, in
    `folds` folds. NaN stands for unknown.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "columns": [tuple, list, None],
        "monotonic": [tuple, list, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "folds": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        columns: tuple[int, ...] | None = None,
        monotonic: tuple[int, ...] | None = None,
        max_iter: int = 150,
        max_leaf_nodes: int = 8,
        min_samples_leaf: int = 40,
        learning_rate: float = 0.06,
        folds: int = 3,
    ) -> None:
        self.columns = columns
        self.monotonic = monotonic
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.learning_rate = learning_rate
        self.folds = folds

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """X is (rows, columns), y two classes, groups what must not be on both sides of a fold.

        Without groups every row is one of its own.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_, good = two_classes(y)
        seen = X if self.columns is None else X[:, list(self.columns)]
        # Threads that spin beside other work on the same cores took twenty times as long.
        with threadpool_limits(limits=1, user_api="openmp"):
            odds = self._cross_fitted(seen, good, groups)
            self.booster_ = self._trees(seen, good)
        self.n_iter_ = self.booster_.n_iter_
        sigmoid = LogisticRegression(C=1e6).fit(odds[:, None], good)
        # Odds turned around would turn the monotonic directions around, too.
        self.slope_ = max(float(sigmoid.coef_[0, 0]), 1e-3)
        self.intercept_ = float(sigmoid.intercept_[0])
        self.held_out_ = self._chance(odds)
        self.threshold_ = threshold_at(good, self.held_out_, bad_ratio=BAD_RATIO)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """(rows, 2): the chance of each class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        seen = X if self.columns is None else X[:, list(self.columns)]
        with threadpool_limits(limits=1, user_api="openmp"):
            chance = self._chance(self.booster_.decision_function(seen))
        return np.stack([1 - chance, chance], axis=1)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What a file holds; its trees are followed without a check. Raises ValueError for wild ones."""
        super().__setstate__(state)
        if "booster_" in state:
            _check_trees(self.booster_)

    def _chance(self, odds: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-(self.slope_ * odds + self.intercept_))))

    def _booster(self) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(
            max_iter=self.max_iter,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            learning_rate=self.learning_rate,
            l2_regularization=1.0,
            monotonic_cst=None if self.monotonic is None else list(self.monotonic),
            early_stopping=False,
        )

    def _trees(self, X: Floats, good: npt.NDArray[np.int64]) -> HistGradientBoostingClassifier:
        """Trees that split on no column of which X knows nothing; scikit-learn fails to bin such."""
        is_unknown = np.isnan(X).all(axis=0)
        return self._booster().fit(np.where(is_unknown, 0.0, X), good)

    def _cross_fitted(self, X: Floats, good: npt.NDArray[np.int64], groups: Any) -> Floats:
        """Log-odds of each row by trees that saw none of its group."""
        odds = np.full(len(X), np.nan)
        for train, test in _folds(len(X), groups, self.folds):
            if len(np.unique(good[train])) == 2:
                odds[test] = self._trees(X[train], good[train]).decision_function(X[test])
        if np.isnan(odds).any():
            # Too few rows to keep any apart.
            odds = self._trees(X, good).decision_function(X)
        return np.asarray(np.clip(odds, np.log(LEAST), -np.log(LEAST)))


def threshold_at(good: Any, chance: Floats, *, bad_ratio: float) -> float:
    """The lowest chance from which on the calls, taken together, are bad no more often than that; else 1."""
    order = np.argsort(-chance, kind="stable")
    bad = np.cumsum(1 - np.asarray(good)[order])
    counts = np.arange(1, len(order) + 1)
    # Equal chances are admitted together.
    is_last = np.append(np.diff(chance[order]) != 0, True)
    held = np.flatnonzero((bad <= bad_ratio * counts) & is_last)
    return float(chance[order][held[-1]]) if len(held) else 1.0


def _check_trees(booster: HistGradientBoostingClassifier) -> None:
    """Children stand behind their parents and within their tree, as scikit-learn's grower places them."""
    for predictors in booster._predictors:
        for nodes in (predictor.nodes for predictor in predictors):
            inner = np.flatnonzero(nodes["is_leaf"] == 0)
            children = np.stack([nodes[side][inner].astype(np.int64) for side in ("left", "right")])
            features = nodes["feature_idx"][inner]
            within = (children > inner) & (children < len(nodes))
            known = (features >= 0) & (features < booster.n_features_in_)
            if not len(nodes) or not within.all() or not known.all():
                raise ValueError("a tree whose nodes point outside of it")
            if nodes["is_categorical"].any():
                raise ValueError("a tree with categories, which these models have not")


def _folds(rows: int, groups: Any, folds: int) -> Any:
    if groups is not None and len(np.unique(groups)) >= folds:
        return list(GroupKFold(folds).split(np.zeros(rows), groups=groups))
    folds = min(folds, rows)
    return list(KFold(folds, shuffle=True, random_state=0).split(np.zeros(rows)))
