"""Step lists as people write them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.rtc.simulation.steps import Steps, parse_steps


def parse(text: str) -> Steps:
    return parse_steps(text, name="rate", low=0, high=1000, unit="kbps")


def test_a_single_number_holds_at_all_times():
    steps = parse(" 600 ")
    assert [steps.at(t) for t in (-1, 0, 10**12)] == [600, 600, 600]


def test_each_value_begins_exactly_at_its_time():
    steps = parse("0:600, 10:150.5, 12.25:0")
    assert [steps.at(t) for t in (0, 9_999_999, 10_000_000, 12_249_999, 12_250_000)] == [
        600,
        600,
        Fraction("150.5"),
        Fraction("150.5"),
        0,
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "rate '' is not a number"),
        ("fast", "rate 'fast' is not a number"),
        ("nan", "is not a number"),
        ("1/0", "is not a number"),
        ("0:", "rate '' is not a number"),
        ("x:5", "rate: a time 'x' is not a number"),
        ("1:600", "first step must begin at 0 s"),
        ("0:600,10:5,10:6", "times must grow"),
        ("0:600,10:5,9:6", "times must grow"),
        ("0:600,-1:5", r"time -1 s is outside 0\.\.86400"),
        ("-1", r"rate -1 is outside 0\.\.1000 kbps"),
        ("0:600,3:1001", r"rate 1001 is outside 0\.\.1000 kbps"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_legal(text, names):
    with pytest.raises(LocalError, match=names):
        parse(text)


@given(st.text(alphabet="0123456789.:,-/e x", max_size=20))
def test_any_text_gives_steps_or_a_local_error(text):
    try:
        steps = parse(text)
    except LocalError:
        return
    assert steps.times_us[0] == 0
    assert all(0 <= value <= 1000 for value in steps.values)
