from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.ratecontrol.vbv import VbvBuffer


def test_delay_is_backlog_over_the_current_target() -> None:
    bucket = VbvBuffer(100_000)
    bucket.add(10_000, now_us=0)
    assert bucket.delay_us(0) == 100_000
    assert bucket.delay_us(40_000) == 60_000
    assert bucket.backlog_bits(40_000) == 6_000


def test_a_lower_target_multiplies_the_delay_and_forgives_no_debt() -> None:
    bucket = VbvBuffer(300_000)
    bucket.add(30_000, now_us=0)
    bucket.set_target(50_000, now_us=50_000)
    assert bucket.backlog_bits(50_000) == 15_000
    assert bucket.delay_us(50_000) == 300_000


def test_room_is_the_largest_frame_within_the_delay() -> None:
    bucket = VbvBuffer(99_991)
    bucket.add(7_777, now_us=0)
    room = bucket.room_bits(200_000, now_us=33_333)
    bucket.add(room, now_us=33_333)
    assert 199_980 < bucket.delay_us(33_333) <= 200_000
    bucket.add(1, now_us=33_333)
    assert bucket.delay_us(33_333) > 200_000


def test_an_empty_bucket_counts_the_rate_that_goes_unused() -> None:
    bucket = VbvBuffer(100_000)
    bucket.add(1_000, now_us=0)
    assert bucket.delay_us(30_000) == 0
    assert bucket.unused_bits == 2_000


def test_time_that_runs_backwards_drains_nothing() -> None:
    bucket = VbvBuffer(100_000)
    bucket.add(10_000, now_us=50_000)
    assert bucket.delay_us(20_000) == 100_000
    assert bucket.delay_us(60_000) == 90_000


@pytest.mark.parametrize("target_bps", [0, -1])
def test_refuses_a_target_below_one(target_bps: int) -> None:
    with pytest.raises(LocalError, match="target_bps"):
        VbvBuffer(target_bps)
    with pytest.raises(LocalError, match="target_bps"):
        VbvBuffer(1).set_target(target_bps, now_us=0)


@given(
    st.lists(
        st.tuples(st.integers(0, 300_000), st.integers(0, 90_000), st.integers(1, 3_000_000)),
        max_size=200,
    )
)
def test_a_recount_in_fractions_agrees_exactly(steps: list[tuple[int, int, int]]) -> None:
    bucket, now_us = VbvBuffer(123_457), 0
    level, target = Fraction(0), 123_457
    for gap_us, bits, next_target in steps:
        now_us += gap_us
        level = max(Fraction(0), level - Fraction(gap_us * target, 1_000_000))
        bucket.add(bits, now_us=now_us)
        level += bits
        bucket.set_target(next_target, now_us=now_us)
        target = next_target
        assert bucket.delay_us(now_us) == -(-level * 1_000_000 // target)
