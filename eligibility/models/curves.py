"""What a report draws of scores: points of curves, thinned to what a chart can show."""

from __future__ import annotations

import numpy as np

from .calls import Floats, Ints

Point = tuple[float, float]
POINTS = 200
BINS = 10


def roc(good: Ints, score: Floats) -> list[Point]:
    """Share of bad calls admitted, share of good calls admitted."""
    good_so_far, bad_so_far = _sums(good, score)
    return _thinned(bad_so_far / max(1, bad_so_far[-1]), good_so_far / max(1, good_so_far[-1]))


def precision_recall(good: Ints, score: Floats) -> list[Point]:
    """Share of good calls admitted, share of those admitted that are good."""
    good_so_far, bad_so_far = _sums(good, score)
    admitted = np.maximum(1, good_so_far + bad_so_far)
    return _thinned(good_so_far / max(1, good_so_far[-1]), good_so_far / admitted)


def coverage_curve(good: Ints, score: Floats) -> list[Point]:
    """Share of calls on AV1, share of those that are bad."""
    good_so_far, bad_so_far = _sums(good, score)
    admitted = good_so_far + bad_so_far
    # The first few calls are chance: one bad one among them is a rate of its own.
    enough = admitted >= max(1, len(good) // 100)
    return _thinned(admitted[enough] / len(good), bad_so_far[enough] / admitted[enough])


def calibration(good: Ints, score: Floats) -> list[tuple[float, float, int]]:
    """Mean score, share of good calls, and calls, of each tenth of the score that has any."""
    places = np.clip((score * BINS).astype(np.int64), 0, BINS - 1)
    rows = [places == place for place in range(BINS)]
    return [
        (float(score[row].mean()), float(good[row].mean()), int(row.sum()))
        for row in rows
        if row.any()
    ]


def _sums(good: Ints, score: Floats) -> tuple[Floats, Floats]:
    """Good and bad calls from the best score down."""
    ordered = good[np.argsort(-score, kind="stable")].astype(np.float64)
    return np.cumsum(ordered), np.cumsum(1 - ordered)


def _thinned(x: Floats, y: Floats) -> list[Point]:
    if not len(x):
        return []
    places = np.unique(np.linspace(0, len(x) - 1, POINTS).astype(np.int64))
    return [(float(x[place]), float(y[place])) for place in places]
