"""Target rates over time: what parses, what is refused, and what a seed decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.samples.evaluate.rates import constant, parse_rate, parse_schedule


def test_a_schedule_is_its_steps_in_order_of_time() -> None:
    rates = parse_schedule("0:300,3:100,6.5:50")
    assert rates.steps == ((0, 300_000), (3_000_000, 100_000), (6_500_000, 50_000))
    assert rates.highest_bps == 300_000
    assert not rates.is_constant


def test_the_last_step_lasts_as_long_as_the_one_before_it() -> None:
    assert parse_schedule("0:300,3:100,6.5:50").end_us == 10_000_000
    assert parse_schedule("0:300").end_us is None


def test_a_constant_rate_stands_for_itself() -> None:
    rates = parse_rate("62.5")
    assert rates == constant(62.5)
    assert rates.steps == ((0, 62_500),)
    assert (rates.is_constant, rates.label, rates.slug) == (True, "62.5 kbps", "62.5kbps")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is not SECONDS:KBPS"),
        ("300", "'300' is not SECONDS:KBPS"),
        ("0:300,", "'' is not SECONDS:KBPS"),
        ("0:300,3:fast", "rate 'fast' is not a number"),
        ("0:300,x:100", "time 'x' is not a number"),
        ("0:nan", "rate 'nan' is not a number"),
        ("0:0", "rate 0 kbps is outside 1..1000000"),
        ("0:300,3:-5", "rate -5 is below 0"),
        ("-1:300", "time -1 is below 0"),
        ("0:300,6:100,3:50", "3 s comes after 6 s; sort the steps"),
        ("0:300,3:100,3:50", "3 s comes after 3 s"),
        ("2:300,3:100", "begins at 0, not 2 s"),
        ("0:300,99999999:3", "times are 0 to 86400 s"),
        ("random:5:20:10", "is not random:COUNT"),
        ("random:0:20-30:10", "COUNT from 1"),
        ("random:5:30-20:10", "LOWEST up to HIGHEST"),
        ("random:5:0-20:10", "rate 0 kbps is outside"),
    ],
)
def test_a_wrong_schedule_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(LocalError) as refused:
        parse_schedule(text)
    assert words in str(refused.value)


@given(st.text(alphabet="0123456789.:,-random ", max_size=30))
def test_any_text_is_a_schedule_or_a_local_error(text: str) -> None:
    try:
        rates = parse_schedule(text)
    except LocalError:
        return
    starts = [start for start, _ in rates.steps]
    assert starts == sorted(set(starts))
    assert starts[0] == 0
    assert all(target >= 1000 for _, target in rates.steps)


def test_a_random_schedule_is_its_seeds_and_stays_inside_its_range() -> None:
    first, same, other = (parse_schedule("random:50:20-2000:10", seed=s) for s in (1, 1, 2))
    assert first == same
    assert first.steps != other.steps
    targets = [target for _, target in first.steps]
    assert len(set(targets)) > 40
    assert 20_000 <= min(targets) < 300_000
    assert 1_600_000 < max(targets) <= 2_000_000
    assert [start for start, _ in first.steps] == [i * 200_000 for i in range(50)]
    assert first.end_us == 10_000_000
