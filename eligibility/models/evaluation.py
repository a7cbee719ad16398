"""How good models are on device models that none of them was trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...codecs.errors import LocalError
from .calls import Bools, Calls, Floats
from .columns import FEATURES
from .examples import Examples, Start, held_out_examples
from .metrics import Figures, admitted, auc, figures
from .reference import is_low_tier
from .versions import Estimator

IMPORTANCE_ROWS = 4000
"""Ours: shuffling a column of so many rows moves the AUC by less than 0.002 by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """A model's figures; score is its chance of a good call, one a row of Evaluation.examples."""

    name: str
    score: Floats
    whole: Figures
    tiers: dict[str, Figures]
    low_coverage_at_2pct_bad_of_all: float
    """Share of the low tier's calls on AV1 when 2 % of all calls on AV1 may be bad."""
    starts: dict[str, Figures]
    """Cold starts: soc and probe."""
    importance: dict[str, float]
    """AUC lost when the column is shuffled among the rows."""

    def as_json(self) -> dict[str, Any]:
        """Everything but the scores."""
        return {
            "name": self.name,
            **_rounded(self.whole),
            "tiers": {tier: _rounded(of) for tier, of in self.tiers.items()},
            "low_coverage_at_2pct_bad_of_all": round(self.low_coverage_at_2pct_bad_of_all, 4),
            "cold_start": {start: _rounded(of) for start, of in self.starts.items()},
            "importance": {name: round(value, 4) for name, value in self.importance.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Of one store: the held-out calls with what was known before each, which are the low tier's, and results."""

    calls: Calls
    examples: Examples
    is_low: Bools
    results: list[ModelResult]


def evaluate(
    calls: Calls,
    estimators: Mapping[str, Estimator],
    *,
    on_model: Callable[[str], None] = lambda name: None,
) -> Evaluation:
    """Judge all on the same calls; on_model is told of each that is done. Raises LocalError without any call."""
    by_start = {start: held_out_examples(calls, start=start) for start in Start}
    warm = by_start[Start.WARM]
    if not len(warm.good):
        raise LocalError("the store has no later call with an outcome of a held-out device model")
    is_low = is_low_tier(warm.X[:, FEATURES.index("slowness")])
    results = []
    for name, estimator in estimators.items():
        results.append(_result(name, estimator, by_start, is_low))
        on_model(name)
    return Evaluation(calls=calls, examples=warm, is_low=is_low, results=results)


def _result(
    name: str, estimator: Estimator, by_start: Mapping[Start, Examples], is_low: Bools
) -> ModelResult:
    scores = {start: _chance(estimator, each.X) for start, each in by_start.items()}
    good, score = by_start[Start.WARM].good, scores[Start.WARM]
    low = admitted(good, score)[is_low]
    return ModelResult(
        name=name,
        score=score,
        whole=figures(good, score),
        tiers={
            "low": figures(good[is_low], score[is_low]),
            "high": figures(good[~is_low], score[~is_low]),
        },
        low_coverage_at_2pct_bad_of_all=float(low.mean()) if len(low) else 0.0,
        starts={
            start.value: figures(by_start[start].good, scores[start])
            for start in (Start.SOC, Start.PROBE)
        },
        importance=_importance(estimator, by_start[Start.WARM]),
    )


def _importance(estimator: Estimator, examples: Examples) -> dict[str, float]:
    rng = np.random.default_rng(0)
    count = len(examples.good)
    rows = rng.permutation(count)[:IMPORTANCE_ROWS]
    X, good = examples.X[rows], examples.good[rows]
    whole = auc(good, _chance(estimator, X)) or 0.0
    lost = {}
    for place, name in enumerate(FEATURES):
        shuffled = X.copy()
        shuffled[:, place] = rng.permutation(X[:, place])
        # load is slowness times what is asked: shuffled alone, each still tells of the other.
        lost[name] = whole - (auc(good, _chance(estimator, shuffled)) or 0.0)
    return {name: value for name, value in sorted(lost.items(), key=lambda item: -item[1]) if value}


def _chance(estimator: Estimator, X: Floats) -> Floats:
    return np.asarray(estimator.predict_proba(X)[:, 1])


def _rounded(of: Figures) -> dict[str, Any]:
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in asdict(of).items()
    }
