"""Numbers of scenarios."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.simulation.numbers import parse_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("30", Fraction(30)),
        (" -29.97 ", Fraction(-2997, 100)),
        (".5", Fraction(1, 2)),
        ("1E3", Fraction(1000)),
        ("30000/1001", Fraction(30_000, 1001)),
    ],
)
def test_numbers_are_read_exactly(text, number):
    assert parse_number(text) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_writes_of_a_float_is_read(value):
    assert float(parse_number(str(value))) == value


@pytest.mark.parametrize(
    "text", ["", ".", "x", "nan", "inf", "1/0", "1_0", "1e400000000", "1e-400000000", "9" * 5000]
)
def test_anything_else_is_refused_at_once(text):
    with pytest.raises(ValueError, match=r"^not a number$|^division by 0$"):
        parse_number(text)
