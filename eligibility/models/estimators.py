"""The estimators: a rule by memory, year and system; one model; two tiers. scikit-learn's conventions throughout."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from .binary import BinaryClassifier, two_classes
from .calibrated import BAD_RATIO, Floats, SingleTier, threshold_at

__all__ = ["HeuristicEligibility", "SingleTier", "TwoTier"]


class HeuristicEligibility(BinaryClassifier):
    """A weighted sum of what a device says of itself, calibrated: the best that a table of rules can do.

    columns are the places of the columns that it looks at, None for all; category is the place of one whose
    values are names (the system): each has its own level, and its own weight of the column before it (its
    version). Unknown values count as the middle.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "columns": [tuple, list, None],
        "category": [Interval(Integral, 1, None, closed="left"), None],
        "categories": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        columns: tuple[int, ...] | None = None,
        category: int | None = None,
        categories: int = 6,
    ) -> None:
        self.columns = columns
        self.category = category
        self.categories = categories

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """X is (rows, columns), y two classes; groups are not needed: there is nothing to cross-fit."""
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_, good = two_classes(y)
        known = np.where(np.isfinite(X), X, np.nan)
        has_any = np.isfinite(known).any(axis=0)
        self.middle_ = np.where(has_any, np.nanmedian(np.where(has_any, known, 0), axis=0), 0)
        self.spread_ = np.where(has_any, np.nanstd(np.where(has_any, known, 0), axis=0), 1) + 1e-9
        terms = self._terms(X)
        weights = LogisticRegression(max_iter=500).fit(terms, good)
        self.weights_, self.intercept_ = weights.coef_[0], float(weights.intercept_[0])
        # A few weights over thousands of rows: what it was fitted to tells as much as folds would.
        self.held_out_ = self._chance(terms)
        self.threshold_ = threshold_at(good, self.held_out_, bad_ratio=BAD_RATIO)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """(rows, 2): the chance of each class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        chance = self._chance(self._terms(X))
        return np.stack([1 - chance, chance], axis=1)

    def _chance(self, terms: Floats) -> Floats:
        odds = terms @ self.weights_ + self.intercept_
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))))

    def _terms(self, X: Floats) -> Floats:
        scaled = (np.where(np.isnan(X), self.middle_, X) - self.middle_) / self.spread_
        columns = list(range(X.shape[1])) if self.columns is None else list(self.columns)
        if self.category is None:
            return np.asarray(scaled[:, columns])
        names = X[:, self.category, None] == np.arange(self.categories)
        version = scaled[:, self.category - 1, None]
        plain = [c for c in columns if c not in (self.category, self.category - 1)]
        return np.concatenate([scaled[:, plain], names, names * version], axis=1)


class TwoTier(BinaryClassifier):
    """Two SingleTiers, for devices above and up to a limit of one column, each with its own columns.

    Rows whose tier_column is above tier_limit, or unknown, are the lower end; None takes the median of what it
    is fitted to. Each tier has its own threshold.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tier_column": [Interval(Integral, 0, None, closed="left")],
        "tier_limit": [Interval(Real, None, None, closed="neither"), None],
        "low": [SingleTier, None],
        "high": [SingleTier, None],
    }

    def __init__(
        self,
        tier_column: int = 0,
        tier_limit: float | None = None,
        low: SingleTier | None = None,
        high: SingleTier | None = None,
    ) -> None:
        self.tier_column = tier_column
        self.tier_limit = tier_limit
        self.low = low
        self.high = high

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """As SingleTier's; a tier that lacks a class, or has fewer than ten rows, is fitted to all rows."""
        from sklearn.base import clone

        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_, good = two_classes(y)
        column = X[:, self.tier_column]
        known = column[np.isfinite(column)]
        middle = float(np.median(known)) if len(known) else 0.0
        self.limit_ = middle if self.tier_limit is None else float(self.tier_limit)
        is_low = self.is_low(X)
        self.held_out_ = np.empty(len(X))
        for name, given, rows in (("low_", self.low, is_low), ("high_", self.high, ~is_low)):
            tier = SingleTier() if given is None else clone(given)
            fitted = rows
            if rows.sum() < 10 or len(np.unique(good[rows])) < 2:
                fitted = np.ones(len(X), dtype=bool)
            of_rows = None if groups is None else np.asarray(groups)[fitted]
            tier.fit(X[fitted], good[fitted], of_rows)
            self.held_out_[rows] = tier.held_out_[rows[fitted]]
            setattr(self, name, tier)
        return self

    def is_low(self, X: Floats) -> Any:
        """Which rows are the lower end's."""
        return ~(np.asarray(X)[:, self.tier_column] <= self.limit_)

    def predict_proba(self, X: Any) -> Floats:
        """(rows, 2): the chance of each class, by the row's tier."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        is_low = self.is_low(X)
        chances = np.empty((len(X), 2))
        for tier, rows in ((self.low_, is_low), (self.high_, ~is_low)):
            if rows.any():
                chances[rows] = tier.predict_proba(X[rows])
        return chances
