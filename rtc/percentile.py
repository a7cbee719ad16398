"""Percentiles of what was measured. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def percentile(values: Iterable[int], percent: int) -> int | None:
    """The nearest-rank percentile; None of nothing."""
    ranked = sorted(values)
    return ranked[max(-(-len(ranked) * percent // 100), 1) - 1] if ranked else None
