"""Bjontegaard's delta rate: how many more bits one codec takes than another at equal quality.

Reference: ITU-T VCEG-M33 and, for the Akima interpolation, Herglotz et al., "The Bjontegaard
Bible" (IEEE TIP 2024), through its authors' own package (evaluation extra).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import LocalError
from .vmaf import INSTALL_EVALUATION

Point = tuple[float, float]
"""(bits per second, quality), quality growing with what is better."""

MIN_POINTS = 3  # what Akima interpolation takes; four are usual
GOOD_OVERLAP = 0.75  # the package's min_overlap: below it a mean over so little says little


@dataclass(frozen=True, slots=True, kw_only=True)
class BdRate:
    """percent: bits of the test over the anchor's, -40 for 40 % fewer, as a mean over quality.

    overlap: the part of both curves' quality range that both reach, 0..1; see GOOD_OVERLAP.
    """

    percent: float
    overlap: float


def bd_rate(anchor: Sequence[Point], test: Sequence[Point]) -> BdRate:
    """Compare two rate-quality curves, points in any order.

    Points that another of the same curve beats (no more bits, no less quality) are left out, since
    interpolation needs rising curves. Raises LocalError for fewer than MIN_POINTS that remain, for
    curves without a common quality, and where the evaluation extra is missing.
    """
    curves = [_rising(points, name) for points, name in ((anchor, "anchor"), (test, "test"))]
    qualities = [[quality for _, quality in curve] for curve in curves]
    common = min(q[-1] for q in qualities) - max(q[0] for q in qualities)
    total = max(q[-1] for q in qualities) - min(q[0] for q in qualities)
    if common <= 0:
        spans = " and ".join(f"{q[0]:.2f}..{q[-1]:.2f}" for q in qualities)
        raise LocalError(f"the curves have no quality in common: {spans}; choose closer rates")
    return BdRate(percent=_percent(*curves), overlap=common / total)


def _rising(points: Sequence[Point], name: str) -> list[Point]:
    """The points that no other beats, by rate."""
    if not all(math.isfinite(rate) and math.isfinite(q) and rate > 0 for rate, q in points):
        raise LocalError(f"{name}: rates have to be positive and all numbers finite: {points}")
    rising: list[Point] = []
    for rate, quality in sorted(points, key=lambda point: (point[0], -point[1])):
        if not rising or quality > rising[-1][1]:
            rising.append((rate, quality))
    if len(rising) < MIN_POINTS:
        raise LocalError(f"{name}: {len(rising)} usable points, at least {MIN_POINTS} are needed")
    return rising


def _percent(anchor: list[Point], test: list[Point]) -> float:
    try:
        import bjontegaard
    except ImportError as error:
        raise LocalError(f"BD-rates need the evaluation extra: {INSTALL_EVALUATION}") from error
    columns = [list(column) for curve in (anchor, test) for column in zip(*curve, strict=True)]
    with warnings.catch_warnings():
        # A small overlap is reported as a number.
        warnings.simplefilter("ignore")
        return float(
            bjontegaard.bd_rate(
                *columns,
                method="akima",
                require_matching_points=False,
                min_overlap=GOOD_OVERLAP,
            )
        )
