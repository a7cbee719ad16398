"""Series and windows: what counts into a measurement, and its percentiles."""

from __future__ import annotations

import statistics

import pytest

from codecpilot.samples.call.series import Series, Window, mean_ms, spread_ms

TICK_US = 33_333


def test_a_window_holds_exactly_its_ticks_whatever_the_rounding() -> None:
    series = Series("value")
    start_us = 1_000_000_000
    for tick in range(-5, 20):
        jitter_us = (tick * 7919) % 10_000 - 5_000
        series.add(tick, capture_us=start_us + tick * TICK_US + jitter_us, value=tick)
    window = Window(start_us=start_us, end_us=start_us + 10 * TICK_US, tick_us=TICK_US)
    assert list(series.within(window)["value"]) == list(range(10))


def test_recent_is_the_last_second() -> None:
    series = Series("value")
    for i in range(50):
        series.add(i * 100_000, capture_us=0, value=i)
    assert list(series.recent(4_900_000)["value"]) == list(range(39, 50))


def test_time_that_was_set_back_stands_still() -> None:
    series = Series()
    for at_us in (5, 9, 7, 12):
        series.add(at_us, capture_us=at_us)
    assert list(series.recent(12)["at_us"]) == [5, 9, 9, 12]


def test_nothing_has_no_spread_and_no_mean() -> None:
    assert mean_ms([]) is None
    assert spread_ms([]) == {"p50": None, "p95": None}


def test_times_are_told_in_milliseconds_to_a_tenth() -> None:
    values_us = [1_040, 2_060, 3_000]
    assert spread_ms(values_us) == {"p50": 2.1, "p95": 3.0}
    assert mean_ms(values_us) == pytest.approx(statistics.mean(values_us) / 1000, abs=0.06)
