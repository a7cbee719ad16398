"""How good scores are: ranking, calibration, and how many calls they admit for how many bad ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from .calibrated import BAD_RATIO, threshold_at
from .calls import Bools, Floats, Ints

BINS = 15
"""Of the expected calibration error: Naeini et al. (2015) and Guo et al. (2017) use 10 to 15 of equal width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of some calls. auc is None where all were good, or none."""

    calls: int
    good_ratio: float
    auc: float | None
    ece: float
    coverage_at_2pct_bad: float


def figures(good: Ints, score: Floats) -> Figures:
    """All figures of these calls."""
    return Figures(
        calls=len(good),
        good_ratio=float(good.mean()) if len(good) else 0.0,
        auc=auc(good, score),
        ece=calibration_error(good, score),
        coverage_at_2pct_bad=coverage(good, score),
    )


def auc(good: Ints, score: Floats) -> float | None:
    """Area under the ROC curve: how often a good call has a higher score than a bad one."""
    if len(np.unique(good)) < 2:
        return None
    return float(roc_auc_score(good, score))


def calibration_error(good: Ints, score: Floats, *, bins: int = BINS) -> float:
    """Expected calibration error: |share of good calls - mean score| over bins of the score, by their calls."""
    places = np.clip((score * bins).astype(np.int64), 0, bins - 1)
    counts = np.bincount(places, minlength=bins)
    gaps = np.bincount(places, good, bins) - np.bincount(places, score, bins)
    return float(np.abs(gaps).sum() / max(1, counts.sum()))


def coverage(good: Ints, score: Floats, *, bad_ratio: float = BAD_RATIO) -> float:
    """Share of the calls that can be on AV1, best scores first, with no more than bad_ratio of them bad."""
    if not len(good):
        return 0.0
    return float(admitted(good, score, bad_ratio=bad_ratio).mean())


def admitted(good: Ints, score: Floats, *, bad_ratio: float = BAD_RATIO) -> Bools:
    """Which calls those are."""
    threshold = threshold_at(good, score, bad_ratio=bad_ratio)
    is_admitted = np.asarray(score >= threshold)
    return (
        is_admitted
        if (1 - good[is_admitted]).sum() <= bad_ratio * is_admitted.sum()
        else ~is_admitted & False
    )
