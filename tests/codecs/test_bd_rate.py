"""BD-rate on curves whose answer is known."""

from __future__ import annotations

import sys

import pytest

from codecpilot.codecs.bd_rate import bd_rate
from codecpilot.codecs.errors import LocalError

pytest.importorskip("bjontegaard", reason="needs the evaluation extra")

ANCHOR = [(50_000.0, 40.0), (100_000.0, 62.0), (200_000.0, 78.0), (400_000.0, 88.0)]


def scaled(factor: float) -> list[tuple[float, float]]:
    return [(rate * factor, quality) for rate, quality in ANCHOR]


@pytest.mark.parametrize("factor", [0.43, 0.6, 1.0, 1.5])
def test_a_curve_with_a_fixed_share_of_the_bits_gives_that_share(factor: float) -> None:
    result = bd_rate(ANCHOR, scaled(factor))
    assert result.percent == pytest.approx(100 * (factor - 1), abs=1e-6)
    assert result.overlap == pytest.approx(1.0)


def test_the_order_of_points_does_not_matter() -> None:
    assert bd_rate(ANCHOR[::-1], scaled(0.6)[::-1]) == bd_rate(ANCHOR, scaled(0.6))


def test_the_overlap_is_the_common_part_of_the_qualities() -> None:
    test = [(rate * 0.5, quality + 24) for rate, quality in ANCHOR]
    assert bd_rate(ANCHOR, test).overlap == pytest.approx((88 - 64) / (112 - 40))


def test_curves_of_different_length_are_compared() -> None:
    assert bd_rate(ANCHOR, scaled(0.5)[:3]).percent == pytest.approx(-50, abs=3)


def test_a_point_that_another_beats_does_not_count() -> None:
    dip = [*ANCHOR, (300_000.0, 70.0)]
    assert bd_rate(dip, scaled(0.6)) == bd_rate(ANCHOR, scaled(0.6))


@pytest.mark.parametrize(
    ("test", "part"),
    [
        (ANCHOR[:2], "test: 2 usable points"),
        ([(rate, 50.0) for rate, _ in ANCHOR], "test: 1 usable points"),
        ([(rate, quality + 60) for rate, quality in ANCHOR], "no quality in common"),
        ([*ANCHOR, (0.0, 3.0)], "positive"),
        ([*ANCHOR, (1.0, float("nan"))], "finite"),
    ],
)
def test_curves_that_cannot_be_compared_are_refused(
    test: list[tuple[float, float]], part: str
) -> None:
    with pytest.raises(LocalError, match=part):
        bd_rate(ANCHOR, test)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bjontegaard", None)
    with pytest.raises(LocalError, match=r"pip install -e .\.\[evaluation\]"):
        bd_rate(ANCHOR, ANCHOR)
