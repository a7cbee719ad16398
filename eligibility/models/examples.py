"""Training and evaluation rows: calls with an outcome, and what was known of their device before them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from .calls import HARDWARE, REQUEST, Bools, Calls, Floats, Ints
from .history import NOTHING, History, Signals
from .vectors import Known, feature_rows


class Start(StrEnum):
    """What is known of a device as it is judged."""

    WARM = "warm"
    """Its model's own earlier calls; none where there were none."""
    SOC = "soc"
    """No call of its model: its processor's other models."""
    PROBE = "probe"
    """No call of its model: its processor's other models, and a probe of its own speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """X is (rows, FEATURES); good, and the device model (a place in Calls.models), one a row."""

    X: Floats
    good: Ints
    model: Ints


def training_examples(calls: Calls, *, seed: int = 0) -> Examples:
    """Every later call of the models that may be trained on, four times over, with less and less known.

    With all earlier calls of its model, with a few of them at random, with none, and with none but a probe:
    so that what is fitted knows how far to trust what.
    """
    is_ours = ~calls.is_held_out[calls.model]
    earlier = calls.is_history & is_ours
    socs = History(calls, earlier).of_socs()
    thinned = History(calls, earlier & _thinned(calls, earlier, seed)).of_models()
    rows = np.flatnonzero(~calls.is_history & calls.has_outcome & is_ours)
    parts = [
        _examples(calls, rows, own=History(calls, earlier).of_models(), socs=socs),
        _examples(calls, rows, own=thinned, socs=socs),
        _examples(calls, rows, own=None, socs=socs),
        _examples(calls, rows, own=None, socs=socs, is_probed=True),
    ]
    return Examples(
        X=np.concatenate([part.X for part in parts]),
        good=np.concatenate([part.good for part in parts]),
        model=np.concatenate([part.model for part in parts]),
    )


def held_out_examples(calls: Calls, *, start: Start) -> Examples:
    """Every later call of the models that nothing was trained on."""
    is_held_out = calls.is_held_out[calls.model]
    rows = np.flatnonzero(~calls.is_history & calls.has_outcome & is_held_out)
    history = History(calls, calls.is_history)
    own = history.of_models() if start is Start.WARM else None
    is_probed = start is Start.PROBE
    return _examples(calls, rows, own=own, socs=history.of_socs(), is_probed=is_probed)


def _examples(
    calls: Calls, rows: Ints, *, own: Signals | None, socs: Signals, is_probed: bool = False
) -> Examples:
    model = calls.model[rows]
    known = Known(
        hardware={name: calls.columns[name][rows] for name in HARDWARE},
        request={name: calls.columns[name][rows] for name in REQUEST},
        own=NOTHING.take(np.zeros(len(rows), dtype=np.int64)) if own is None else own.take(model),
        soc=socs.take(model),
        probe=calls.columns["first_slowness"][rows] if is_probed else None,
    )
    good = calls.columns["is_good"][rows].astype(np.int64)
    return Examples(X=feature_rows(known), good=good, model=model)


def _thinned(calls: Calls, earlier: Bools, seed: int) -> Bools:
    """A random few of each model's earlier calls, from one to all, few as often as many."""
    rng = np.random.default_rng(seed)
    counts = np.bincount(calls.model[earlier], minlength=len(calls.models))
    kept = np.maximum(counts, 1) ** rng.random(len(counts))
    draw = rng.random(len(calls))
    order = np.lexsort((np.where(earlier, draw, 2.0), calls.model))
    first = np.searchsorted(calls.model[order], np.arange(len(counts)))
    rank = np.empty(len(calls))
    rank[order] = np.arange(len(calls)) - first[calls.model[order]]
    return np.asarray(rank < kept[calls.model])
