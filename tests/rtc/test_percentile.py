"""Percentiles by nearest rank."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.percentile import percentile


def test_nothing_has_no_percentile():
    assert percentile([], 50) is None


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1), st.integers(1, 100))
def test_a_percentile_is_not_exceeded_by_so_many(values, percent):
    value = percentile(values, percent)
    assert value in values
    assert 100 * sum(v <= value for v in values) >= percent * len(values)
    assert 100 * sum(v < value for v in values) < percent * len(values)
