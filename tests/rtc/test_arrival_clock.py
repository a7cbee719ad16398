"""Which arrival times can be true."""

from __future__ import annotations

import random

import pytest

from codecpilot.rtc.arrival_clock import RESET_US, TOLERANCE_US, ArrivalClock

OFFSET_US = 7_000_000_000


def told(
    clock: ArrivalClock, sent_us: int, *, forward_us: int, back_us: int, offset_us: int = OFFSET_US
):
    """What the clock makes of a packet's honest arrival; its forward delay plus the offset."""
    arrival_us = sent_us + forward_us + offset_us
    checked = clock.accept([(sent_us, arrival_us)], now_us=sent_us + forward_us + back_us)
    return None if checked is None else checked[0] - sent_us


def test_honest_times_pass_unchanged_whatever_the_queues_do():
    clock, rng = ArrivalClock(), random.Random(1)
    for i in range(3000):
        forward_us, back_us = rng.randint(5_000, 3_000_000), rng.randint(5_000, 3_000_000)
        offset_us = OFFSET_US + i * 20_000 * 200 // 1_000_000
        passed = told(
            clock, i * 20_000, forward_us=forward_us, back_us=back_us, offset_us=offset_us
        )
        assert passed == forward_us + offset_us


@pytest.mark.parametrize("lie_us", [-10_000_000, -200_000, 200_000, 10_000_000, 1 << 40])
def test_an_arrival_before_the_sending_or_after_the_feedback_is_refused(lie_us):
    clock = ArrivalClock()
    assert told(clock, 0, forward_us=20_000, back_us=20_000) is not None
    assert (
        told(clock, 20_000, forward_us=20_000, back_us=20_000, offset_us=OFFSET_US + lie_us) is None
    )
    assert told(clock, 40_000, forward_us=20_000, back_us=20_000) == OFFSET_US + 20_000


def test_what_the_round_trip_leaves_open_is_believed():
    clock = ArrivalClock()
    assert told(clock, 0, forward_us=20_000, back_us=20_000) is not None
    late_us = 20_000 + TOLERANCE_US
    assert told(clock, 20_000, forward_us=20_000, back_us=20_000, offset_us=OFFSET_US + late_us)
    assert not told(
        clock, 40_000, forward_us=20_000, back_us=20_000, offset_us=OFFSET_US + 2 * late_us
    )


def test_times_that_contradict_each_other_are_refused_from_the_first_and_for_ever():
    clock = ArrivalClock()
    for now_us in range(0, 10 * RESET_US, 100_000):
        assert (
            clock.accept([(now_us, OFFSET_US), (now_us, OFFSET_US + 400_000)], now_us=now_us + 1)
            is None
        )


@pytest.mark.parametrize("step_us", [-5_000_000, 5_000_000])
def test_a_receiver_that_sets_its_clock_is_believed_after_a_second_and_shows_no_step(step_us):
    clock = ArrivalClock()
    for sent_us in range(0, 1_000_000, 50_000):
        told(clock, sent_us, forward_us=20_000, back_us=20_000)
    passed = {
        sent_us: told(
            clock, sent_us, forward_us=20_000, back_us=20_000, offset_us=OFFSET_US + step_us
        )
        for sent_us in range(1_000_000, 4_000_000, 50_000)
    }
    believed = [sent_us for sent_us, delay in passed.items() if delay is not None]
    assert believed == list(range(1_000_000 + RESET_US, 4_000_000, 50_000))
    assert {passed[sent_us] for sent_us in believed} == {OFFSET_US + 20_000}
