"""When sound gives way to pictures, and when it takes back what it gave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.audio_rate import AudioRate

PACKET_US = 20_000
WANTED_BPS = 400_000


def changes(
    rate: AudioRate, path: list[tuple[float, int | None]], *, wanted_bps: int = WANTED_BPS
) -> list[tuple[float, int]]:
    """(second, rate) of each change; path is how long the estimate has which value."""
    seen: list[tuple[float, int]] = []
    now_us = 0
    for seconds, available_bps in path:
        end_us = now_us + round(seconds * 1e6)
        while now_us < end_us:
            before_bps = rate.bps
            after_bps = rate.update(available_bps, wanted_bps=wanted_bps, now_us=now_us)
            if after_bps != before_bps:
                seen.append((now_us / 1e6, after_bps))
            now_us += PACKET_US
    return seen


def test_each_second_of_too_little_takes_a_step_down_to_the_last():
    rate = AudioRate(32_000)
    assert changes(rate, [(5, 300_000), (10, 90_000)]) == [(6.0, 24_000), (7.0, 16_000)]


def test_a_dip_shorter_than_a_second_changes_nothing():
    dips = [(0.9, 20_000), (0.1, 110_000)] * 5
    assert changes(AudioRate(32_000), dips) == []


def test_each_three_seconds_of_enough_take_a_step_up_to_the_first():
    rate = AudioRate(32_000)
    assert changes(rate, [(3, 90_000), (20, 140_000)])[2:] == [(6.0, 24_000), (9.0, 32_000)]


def test_between_the_thresholds_the_rate_stays():
    rate = AudioRate(32_000)
    assert changes(rate, [(1.5, 90_000), (60, 115_000)]) == [(1.0, 24_000)]


@pytest.mark.parametrize("link_bps", range(60_000, 260_000, 5_000))
def test_on_a_link_that_does_not_change_the_rate_settles(link_bps: int):
    """Pictures have what sound leaves, headers counted; each of its steps is their gain."""
    rate = AudioRate(32_000)
    last_us, steps = 0, 0
    for now_us in range(0, 60_000_000, PACKET_US):
        available_bps = max(0, link_bps - 30_000 - rate.bps)
        before_bps = rate.bps
        if rate.update(available_bps, wanted_bps=WANTED_BPS, now_us=now_us) != before_bps:
            last_us, steps = now_us, steps + 1
    assert last_us <= 2_000_000
    assert steps <= 2
    assert (steps == 0) == (link_bps >= 162_000)


def test_sound_is_whole_where_nobody_estimates_the_path():
    rate = AudioRate(32_000)
    assert changes(rate, [(10, None)]) == []
    assert changes(rate, [(2.5, 50_000)]) == [(1.0, 24_000), (2.0, 16_000)]
    assert changes(rate, [(10, None)])[-1][1] == 32_000


def test_pictures_that_want_little_and_get_it_need_nothing_of_sound():
    assert changes(AudioRate(32_000), [(20, 50_000)], wanted_bps=40_000) == []
    assert changes(AudioRate(32_000), [(20, 30_000)], wanted_bps=40_000)[-1][1] == 16_000


@pytest.mark.parametrize(
    ("highest_bps", "steps_bps"),
    [(96_000, [32_000, 24_000, 16_000]), (24_000, [16_000]), (16_000, []), (6_000, [])],
)
def test_steps_lie_below_what_the_application_chose(highest_bps: int, steps_bps: list[int]):
    seen = changes(AudioRate(highest_bps), [(10, 20_000)])
    assert [bps for _, bps in seen] == steps_bps


@given(
    st.integers(6_000, 256_000),
    st.lists(
        st.tuples(st.none() | st.integers(0, 500_000), st.integers(0, 2_000_000)), max_size=80
    ),
)
def test_the_rate_is_a_step_and_moves_by_one_at_a_time(
    highest_bps: int, estimates: list[tuple[int | None, int]]
):
    rate = AudioRate(highest_bps)
    steps = [highest_bps, *(s for s in (32_000, 24_000, 16_000) if s < highest_bps)]
    at, now_us = 0, 0
    for available_bps, wait_us in estimates:
        now_us += wait_us
        step = steps.index(rate.update(available_bps, wanted_bps=WANTED_BPS, now_us=now_us))
        assert abs(step - at) <= 1
        at = step
