"""The estimators keep scikit-learn's conventions, and physics."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from codecpilot.eligibility.models.columns import FEATURES, HIGH, LOW, directions
from codecpilot.eligibility.models.estimators import HeuristicEligibility, SingleTier, TwoTier

QUICK = {"max_iter": 4, "min_samples_leaf": 2, "folds": 2, "learning_rate": 0.3}


@parametrize_with_checks(
    [
        HeuristicEligibility(),
        SingleTier(**QUICK),
        TwoTier(low=SingleTier(**QUICK), high=SingleTier(**QUICK)),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def two_groups(rows: int = 400, seed: int = 0):
    """Good where column 0 is below 0 in most cases; groups of ten rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    chance = 1 / (1 + np.exp(3 * X[:, 0]))
    return X, (rng.random(rows) < chance).astype(int), np.arange(rows) // 10


def test_the_score_only_falls_along_a_column_that_can_only_lower_it():
    X, y, groups = two_groups()
    model = SingleTier(monotonic=(-1, 0, 0), max_iter=30).fit(X, y, groups)
    line = np.zeros((50, 3))
    line[:, 0] = np.linspace(-3, 3, 50)
    chances = model.predict_proba(line)[:, 1]
    assert (np.diff(chances) <= 0).all()
    assert chances[0] > 0.8
    assert chances[-1] < 0.2


def test_rows_of_a_group_never_stand_on_both_sides_of_a_fold():
    # Column 1 tells the group, and a group's outcome is a coin of its own: there is nothing to learn.
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(60), 20)
    X = np.stack([rng.normal(size=1200), groups + 0.0], axis=1)
    y = rng.integers(0, 2, 60)[groups]
    by_group = SingleTier(min_samples_leaf=5).fit(X, y, groups)
    by_row = SingleTier(min_samples_leaf=5).fit(X, y)
    assert np.ptp(by_group.held_out_) < 0.1, "one chance for all"
    assert np.ptp(by_row.held_out_) > 0.9, "every group's own outcome"


def test_each_row_is_scored_by_the_tier_it_belongs_to():
    X, y, groups = two_groups()
    X[:10, 0] = np.nan
    model = TwoTier(tier_column=0, tier_limit=0.0, **tiers()).fit(X, y, groups)
    is_low = model.is_low(X)
    assert is_low[:10].all()
    assert is_low[10:].tolist() == (X[10:, 0] > 0).tolist()
    np.testing.assert_array_equal(
        model.predict_proba(X)[is_low], model.low_.predict_proba(X[is_low])
    )
    np.testing.assert_array_equal(
        model.predict_proba(X)[~is_low], model.high_.predict_proba(X[~is_low])
    )


def test_a_tier_without_one_of_the_outcomes_learns_from_all_rows():
    X, _, groups = two_groups()
    y = (X[:, 0] < 0).astype(int)
    model = TwoTier(tier_column=0, tier_limit=0.0, **tiers()).fit(X, y, groups)
    chances = model.predict_proba(X)[:, 1]
    assert chances[y == 1].min() > chances[y == 0].max()


def test_a_rule_weighs_a_version_within_its_own_system():
    # Version 12 is new for system 0 and old for system 1.
    rng = np.random.default_rng(2)
    system, version = rng.integers(0, 2, 2000), rng.integers(8, 17, 2000)
    good = np.where(system == 0, version >= 10, version >= 14).astype(int)
    X = np.stack([version, system], axis=1).astype(float)
    rule = HeuristicEligibility(columns=(0, 1), category=1, categories=2).fit(X, good)
    chance = rule.predict_proba([[12, 0], [12, 1], [np.nan, 0]])[:, 1]
    assert chance[0] > 0.8
    assert chance[1] < 0.4
    assert 0 < chance[2] < 1


def test_physics_names_only_columns_that_exist_and_points_one_way():
    assert set(LOW) | set(HIGH) <= set(FEATURES)
    assert dict(zip(LOW, directions(LOW), strict=True))["load"] == -1
    assert dict(zip(LOW, directions(LOW), strict=True))["good_ratio"] == 1
    assert dict(zip(LOW, directions(LOW), strict=True))["battery"] == 0


def test_fitting_again_gives_the_same_scores():
    X, y, groups = two_groups()
    first = SingleTier(max_iter=20).fit(X, y, groups)
    np.testing.assert_array_equal(
        first.predict_proba(X), clone(first).fit(X, y, groups).predict_proba(X)
    )


def tiers() -> dict[str, SingleTier]:
    return {"low": SingleTier(**QUICK), "high": SingleTier(**QUICK)}


def test_columns_of_which_nothing_is_known_are_learned_around():
    """A store without a battery, say, or with one side of each call."""
    rng = np.random.default_rng(3)
    X = rng.random((600, 3))
    good = (X[:, 0] < 0.5).astype(int)
    X[:, 1] = np.nan

    tier = SingleTier(monotonic=(-1, -1, 0)).fit(X, good)

    assert 0.97 < np.mean(tier.predict(X) == good) <= 1
    X[:, 1] = 5.0
    assert 0.97 < np.mean(tier.predict(X) == good) <= 1
