"""What earlier calls tell of a device model, and of the other models with its processor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .calls import SIGNALS, Bools, Calls, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """One row a device model: means (rows, SIGNALS), NaN where no call tells; from how many calls each.

    spread is the standard deviation of log_slowness over calls, n_calls their number.
    """

    means: Floats
    counts: Floats
    spread: Floats
    n_calls: Floats

    def take(self, rows: Ints) -> Signals:
        """The rows at these places, again and again if so asked."""
        return Signals(
            means=self.means[rows],
            counts=self.counts[rows],
            spread=self.spread[rows],
            n_calls=self.n_calls[rows],
        )


NOTHING = Signals(
    means=np.full((1, len(SIGNALS)), np.nan),
    counts=np.zeros((1, len(SIGNALS))),
    spread=np.full(1, np.nan),
    n_calls=np.zeros(1),
)


class History:
    """Sums over calls, so that those of a processor are those of its models."""

    def __init__(self, calls: Calls, which: Bools) -> None:
        """which says the calls that are known."""
        size, model = len(calls.models), calls.model[which]
        values = np.stack([calls.columns[name][which] for name in SIGNALS], axis=1)
        known = np.isfinite(values)
        filled = np.where(known, values, 0.0)
        self._soc = calls.soc_of_model
        self._sums = _by(model, filled, size)
        self._counts = _by(model, known.astype(np.float64), size)
        self._squares = _by(model, filled[:, :1] ** 2, size)
        self._calls = np.bincount(model, minlength=size).astype(np.float64)

    def of_models(self) -> Signals:
        """Each model's own calls."""
        return _signals(self._sums, self._counts, self._squares, self._calls)

    def of_socs(self) -> Signals:
        """For each model the calls of the other models with the same processor, whatever they are."""
        parts = (self._sums, self._counts, self._squares, self._calls[:, None])
        sums, counts, squares, calls = (self._of_others(part) for part in parts)
        return _signals(sums, counts, squares, calls[:, 0])

    def _of_others(self, values: Floats) -> Floats:
        known = self._soc >= 0
        totals = _by(self._soc[known], values[known], int(self._soc.max(initial=0)) + 1)
        return np.where(known[:, None], totals[np.maximum(self._soc, 0)] - values, 0.0)


def _by(places: Ints, values: Floats, size: int) -> Floats:
    """Sums of the rows of values at each place."""
    columns = [np.bincount(places, values[:, k], size) for k in range(values.shape[1])]
    return np.stack(columns, axis=1)


def _signals(sums: Floats, counts: Floats, squares: Floats, calls: Floats) -> Signals:
    with np.errstate(invalid="ignore", divide="ignore"):
        # Subtracting leaves tiny rests where nothing is left.
        means = np.where(counts > 0.5, sums / counts, np.nan)
        variance = squares[:, 0] / counts[:, 0] - means[:, 0] ** 2
        spread = np.where(counts[:, 0] > 1.5, np.sqrt(np.maximum(variance, 0)), np.nan)
    return Signals(means=means, counts=counts, spread=spread, n_calls=calls)
