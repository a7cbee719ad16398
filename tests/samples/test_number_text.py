"""Numbers of the command line."""

from __future__ import annotations

from fractions import Fraction

import pytest

from codecpilot.samples.number_text import fraction_from_text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("30", Fraction(30)),
        (" 29.97 ", Fraction(2997, 100)),
        ("30000/1001", Fraction(30_000, 1001)),
        ("-1.5", Fraction(-3, 2)),
    ],
)
def test_numbers_are_read_exactly(text: str, number: Fraction) -> None:
    assert fraction_from_text(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "nan", "inf", "1/0", "1/2/3", "1e3", "1e999999999", "1e-999999999", "9" * 99]
)
def test_anything_else_is_refused_at_once(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a number|divides by 0"):
        fraction_from_text(text)
