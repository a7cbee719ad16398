from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.capture_clock import GAP_MAX_US, GAP_MIN_US, CaptureClock


@pytest.mark.parametrize("gap_us", [8_333, 16_667, 66_667, 100_000])
def test_follows_a_steady_camera(gap_us: int) -> None:
    clock = CaptureClock()
    for index in range(80):
        clock.picture(index * gap_us)
    assert clock.gap_us == pytest.approx(gap_us, abs=10)


def test_expects_30_pictures_a_second_before_it_has_seen_any() -> None:
    clock = CaptureClock()
    assert clock.gap_us == pytest.approx(33_333, abs=1)
    clock.picture(5_000_000)
    assert clock.gap_us == pytest.approx(33_333, abs=1)


def test_a_pause_counts_as_one_slow_picture() -> None:
    clock = CaptureClock()
    for index in range(60):
        clock.picture(index * 33_333)
    clock.picture(60_000_000)
    assert 33_333 < clock.gap_us < 80_000


@given(st.lists(st.integers(0, 10**9), max_size=100))
def test_any_times_give_a_gap_within_bounds(times: list[int]) -> None:
    clock = CaptureClock()
    for now_us in times:
        clock.picture(now_us)
        assert GAP_MIN_US <= clock.gap_us <= GAP_MAX_US
