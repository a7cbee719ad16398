"""Figures against small examples counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.eligibility.models.curves import calibration, coverage_curve, precision_recall, roc
from codecpilot.eligibility.models.metrics import (
    admitted,
    auc,
    calibration_error,
    coverage,
    figures,
)

GOOD = np.array([1, 1, 1, 0, 1, 0, 0, 1])
SCORE = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])


def test_coverage_takes_the_longest_run_from_the_best_that_is_good_enough():
    # 3 of 3 good, then 1 bad in 4 (25 %), 1 in 5 (20 %).
    assert coverage(GOOD, SCORE, bad_ratio=0.02) == 3 / 8
    assert coverage(GOOD, SCORE, bad_ratio=0.2) == 5 / 8
    assert coverage(GOOD, SCORE, bad_ratio=1) == 1


def test_calls_of_one_score_are_admitted_together_or_not_at_all():
    score = np.array([0.9, 0.9, 0.5, 0.5])
    assert coverage(np.array([1, 0, 1, 1]), score, bad_ratio=0.1) == 0
    assert coverage(np.array([1, 1, 0, 1]), score, bad_ratio=0.1) == 0.5


def test_nothing_is_covered_where_every_call_was_bad():
    assert not admitted(np.zeros(4, dtype=int), np.full(4, 1.0)).any()
    assert figures(np.zeros(4, dtype=int), np.full(4, 0.5)).auc is None


def test_auc_counts_pairs_in_the_right_order():
    # Of 5 x 3 pairs those with a bad call above the good one: 0.5 below 0.6; 0.2 below three.
    assert auc(GOOD, SCORE) == pytest.approx((15 - 4) / 15)


def test_the_calibration_error_weighs_gaps_by_calls():
    good = np.array([1, 1, 0, 0, 1])
    score = np.array([0.95, 0.95, 0.95, 0.05, 0.05])
    # |2 - 2.85| and |1 - 0.1| over five calls.
    assert calibration_error(good, score) == pytest.approx((0.85 + 0.9) / 5)


def test_curves_end_where_everything_is_admitted():
    assert roc(GOOD, SCORE)[-1] == (1.0, 1.0)
    assert precision_recall(GOOD, SCORE)[-1] == (1.0, 5 / 8)
    assert coverage_curve(GOOD, SCORE)[-1] == (1.0, 3 / 8)
    assert sum(calls for _, _, calls in calibration(GOOD, SCORE)) == 8


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_what_is_admitted_is_never_bad_more_often_than_allowed(rows):
    good, score = np.array([g for g, _ in rows]), np.array([s for _, s in rows])
    chosen = admitted(good, score, bad_ratio=0.1)
    assert (1 - good[chosen]).sum() <= 0.1 * chosen.sum()
    if chosen.any():
        assert not (~chosen & (score >= score[chosen].min())).any()
