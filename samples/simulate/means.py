"""Means of figures that some runs do not have."""

from __future__ import annotations

from collections.abc import Sequence


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """The mean without those that are None, to a thousandth; None where nothing is known."""
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 3) if known else None
