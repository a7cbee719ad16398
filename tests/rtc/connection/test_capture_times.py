"""Capture times of a track: even as its timestamps, near real time, always increasing."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.connection.capture_times import MAX_STRAY_US, CaptureTimes

CLOCK = Fraction(1, 90_000)
START_US = 5_000_000
FRAME_US = 33_333


def test_jitter_of_arrival_does_not_reach_the_capture_times() -> None:
    times = CaptureTimes()
    late_us = (0, 9_000, 1_000, 30_000, 0, 4_000)
    mapped = [
        times.map(3_000 * i, CLOCK, now_us=START_US + i * FRAME_US + late)
        for i, late in enumerate(late_us)
    ]
    gaps = [b - a for a, b in pairwise(mapped)]
    assert all(33_332 <= gap <= 33_334 for gap in gaps)


def test_a_frame_is_never_captured_in_the_future() -> None:
    times = CaptureTimes()
    # The first frame was held up; those after it come at once.
    assert times.map(0, CLOCK, now_us=START_US + 30_000) == START_US + 30_000
    for i in (1, 2):
        now_us = START_US + i * FRAME_US
        assert now_us - 2 <= times.map(3_000 * i, CLOCK, now_us=now_us) <= now_us


def test_without_timestamps_the_arrival_counts() -> None:
    times = CaptureTimes()
    assert times.map(None, None, now_us=START_US) == START_US
    assert times.map(None, CLOCK, now_us=START_US + 7) == START_US + 7
    assert times.map(5, None, now_us=START_US + 9) == START_US + 9


def test_timestamps_that_jump_are_anchored_anew() -> None:
    times = CaptureTimes()
    times.map(0, CLOCK, now_us=START_US)
    assert times.map(90_000_000, CLOCK, now_us=START_US + FRAME_US) == START_US + FRAME_US
    assert times.map(0, CLOCK, now_us=START_US + 2 * FRAME_US) == START_US + 2 * FRAME_US


def test_the_next_track_goes_on_after_the_one_before() -> None:
    first = CaptureTimes()
    last_us = first.map(0, CLOCK, now_us=START_US)
    second = first.follow()
    assert second.map(777, CLOCK, now_us=START_US) == last_us + 1
    assert second.map(777 + 9_000, CLOCK, now_us=START_US + 100_000) == START_US + 100_000


@given(
    st.lists(
        st.tuples(st.none() | st.integers(-(2**40), 2**40), st.integers(0, 10**7)), max_size=50
    )
)
def test_times_increase_and_stay_near_real_time(frames: list[tuple[int | None, int]]) -> None:
    times, now_us, last_us = CaptureTimes(), START_US, -1
    for count, (pts, gap_us) in enumerate(frames):
        now_us += gap_us
        capture_us = times.map(pts, CLOCK, now_us=now_us)
        assert capture_us > last_us
        # Only frames that come at one instant are told apart by a microsecond each.
        assert now_us - MAX_STRAY_US <= capture_us <= now_us + count
        last_us = capture_us
