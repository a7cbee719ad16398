"""A call on AV1 is good or bad by what its device answers for."""

from __future__ import annotations

import pytest

from codecpilot.eligibility.outcome import with_outcomes

from .rows import call, table


def outcomes(*calls) -> list[str | None]:
    return [row["outcome"] for row in with_outcomes(table(*calls)).to_pylist()]


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"encode_p95_us": 33_000},
        {"frames_dropped": 15},
        {"frames_shown_late": 15},
        {"limited_cpu_us": 1_000_000},
        {"av_offset_p95_us": 185_000},
        # The path's doing, whatever it costs the viewer.
        {"freeze_count": 9, "freeze_us": 9_000_000},
        {"limited_bandwidth_us": 10_000_000, "frames_dropped": 150},
        # What is not known is held against nobody.
        {"encode_p95_us": None, "limited_cpu_us": None, "frames_shown_late": None},
        {"encode_p50_us": None, "encode_p95_us": None},
    ],
)
def test_a_device_that_keeps_up_is_good(columns):
    assert outcomes(call(**columns)) == ["good"] * 6


@pytest.mark.parametrize(
    "columns",
    [
        {"encode_p95_us": 33_500},
        {"encode_p95_us": None, "encode_p50_us": 40_000},
        {"frames_dropped": 16},
        {"frames_shown_late": 16},
        {"limited_cpu_us": 1_010_000},
        {"av_offset_p95_us": 186_000},
    ],
)
def test_a_device_that_does_not_keep_up_is_bad(columns):
    assert outcomes(call(**columns)) == ["bad"] * 6


@pytest.mark.parametrize(
    "made",
    [
        call(codec="H264"),
        call(codec=None),
        call(2),
        call(encode_p50_us=None, encode_p95_us=None, frames_dropped=None),
    ],
)
def test_a_call_that_says_too_little_has_no_outcome(made):
    assert set(outcomes(made)) == {None}


def test_one_slow_interval_of_ten_is_forgiven_and_two_are_not():
    one, two = call(10, number=1), call(10, number=2)
    for slow in (one[3], two[3], two[4]):
        slow["encode_p95_us"] = 50_000

    assert outcomes(one, two) == ["good"] * 10 + ["bad"] * 10


def test_leaving_av1_because_of_the_cpu_is_bad_and_beginning_without_it_is_not():
    left, joined = call(8, number=1), call(8, number=2)
    for other in left[4:] + joined[:4]:
        other["codec"] = "H264"
    left[3]["limited_cpu_us"] = joined[4]["limited_cpu_us"] = 1_000

    assert outcomes(left, joined) == ["bad"] * 8 + ["good"] * 8


def test_sides_are_judged_apart():
    assert outcomes(call(3, side="b", frames_dropped=200), call(3)) == ["good"] * 3 + ["bad"] * 3


def test_a_recorded_outcome_stands_for_its_call():
    made = call(4)
    made[1]["outcome"] = "bad"

    assert outcomes(made) == ["bad"] * 4
