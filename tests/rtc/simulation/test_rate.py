"""Rates against sums and recounts done another way."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.rtc.simulation.rate import StepRate, parse_rate
from codecpilot.rtc.simulation.steps import Steps
from codecpilot.rtc.simulation.trace import TraceRate, parse_trace


@st.composite
def step_rates(draw):
    times = sorted(draw(st.sets(st.integers(1, 10_000_000), max_size=5)))
    values = draw(
        st.lists(st.integers(0, 5000), min_size=len(times), max_size=len(times)).map(
            lambda v: [*v, draw(st.integers(1, 5000))]
        )
    )
    return Steps((0, *times), tuple(Fraction(v) for v in values))


@given(step_rates(), st.integers(0, 20_000_000))
def test_offered_work_is_the_integral_of_the_steps(steps, now_us):
    edges = [t for t in steps.times_us if t < now_us] + [now_us]
    integral = sum(
        (end - start) * steps.at(start) * 1000 for start, end in itertools.pairwise(edges)
    )
    assert StepRate(steps).offered(now_us) == integral


@given(step_rates(), st.integers(1, 10**14))
def test_work_ends_in_the_first_microsecond_that_offers_it_all(steps, work):
    rate = StepRate(steps)
    end_us = rate.ends_us(work)
    assert rate.offered(end_us - 1) < work <= rate.offered(end_us)


@given(step_rates(), st.integers(0, 10**14))
def test_work_begins_in_the_last_microsecond_that_offers_no_more(steps, work):
    rate = StepRate(steps)
    begin_us = rate.begins_us(work)
    assert rate.offered(begin_us) <= work < rate.offered(begin_us + 1)


traces = st.lists(st.integers(0, 3000), min_size=1, max_size=40).map(sorted).filter(lambda t: t[-1])


@given(traces, st.integers(0, 20_000_000))
def test_a_trace_offers_1500_bytes_a_line_and_repeats(opportunities, now_us):
    period = opportunities[-1]
    count = sum(
        1
        for start in range(0, now_us // 1000 + 1, period)
        for ms in opportunities
        if (start + ms) * 1000 <= now_us
    )
    assert TraceRate(opportunities).offered(now_us) == 1500 * count


@given(traces, st.integers(1, 500_000))
def test_a_trace_serves_at_its_opportunities_alone(opportunities, work):
    rate = TraceRate(opportunities)
    end_us = rate.ends_us(work)
    assert rate.offered(end_us - 1) < work <= rate.offered(end_us)
    assert end_us // 1000 % opportunities[-1] in {ms % opportunities[-1] for ms in opportunities}
    assert rate.begins_us(work - 1) == end_us


def test_a_trace_reads_blank_lines_and_spaces():
    rate = parse_trace(" 3\n\n5\r\n5\n10\n")
    assert rate.period_us == 10_000
    assert [rate.offered(t) for t in (2999, 3000, 5000, 10_000, 13_000)] == [
        0,
        1500,
        4500,
        6000,
        7500,
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("1\n99999999999999999999999\n", r"the trace ends at 1e\+23 ms; times are 0 to 86400000"),
        ("1\ntwo\n", "line 2 of the trace is 'two'"),
        ("1\n2.5\n", r"line 2 of the trace is '2\.5'"),
        ("5\n4\n", "not sorted: 4 ms in line 2 follows 5 ms"),
        ("-3\n4\n", "begins at -3 ms"),
        ("0\n0\n", "ends at 0 ms"),
    ],
)
def test_a_broken_trace_is_refused_with_its_reason(text, names):
    with pytest.raises(LocalError, match=names):
        parse_trace(text)


@given(st.text(alphabet="0123456789-. \n", max_size=40))
def test_any_text_is_a_trace_or_a_local_error(text):
    try:
        rate = parse_trace(text)
    except LocalError:
        return
    assert rate.period_us > 0


@pytest.mark.parametrize("text", ["0", "0:600,10:0"])
def test_a_rate_that_ends_at_zero_is_refused(text):
    with pytest.raises(LocalError, match="last rate is 0"):
        parse_rate(text)
