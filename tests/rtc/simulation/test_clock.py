"""Clocks that run fast or slow, forth and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.simulation.clock import START_US, PeerClock

skews = st.integers(-100_000, 100_000)


@given(skews, st.integers(0, 10**11))
def test_a_local_time_is_reached_at_its_virtual_time_and_not_before(ppm, virtual_us):
    clock = PeerClock(fast_ppm=ppm)
    local_us = clock.local_us(virtual_us)
    back_us = clock.virtual_us(local_us)
    assert clock.local_us(back_us) >= local_us
    assert back_us == 0 or clock.local_us(back_us - 1) <= local_us
    assert virtual_us - 2 <= back_us <= virtual_us + 2


def test_a_fast_clock_counts_more():
    assert PeerClock(fast_ppm=500).local_us(10_000_000) - START_US == 10_005_000
    assert PeerClock(fast_ppm=-500).local_us(10_000_000) - START_US == 9_995_000


def test_an_error_of_the_wall_clock_stands_in_its_offset_alone():
    right, wrong = PeerClock(), PeerClock(wall_error_us=-7)
    assert wrong.local_us(123) == right.local_us(123)
    assert wrong.wall_offset_us == right.wall_offset_us - 7
