from __future__ import annotations

import pytest

from codecpilot.rtc.resilience.nack import (
    DEFAULT_RTT_US,
    MAX_MISSING,
    MAX_TRIES,
    REORDER_US,
    NackTracker,
)


def tracker(*received: int) -> NackTracker:
    nacks = NackTracker()
    for sequence in received:
        nacks.received(sequence, now_us=0)
    return nacks


def test_numbers_in_order_ask_for_nothing():
    nacks = tracker(7, 8, 9)
    assert nacks.poll(now_us=10**9, rtt_us=DEFAULT_RTT_US) == ()
    assert nacks.poll_timeout() is None


def test_a_gap_is_asked_for_after_a_moment_of_grace():
    nacks = tracker(1, 4)
    assert nacks.poll(now_us=REORDER_US - 1, rtt_us=DEFAULT_RTT_US) == ()
    assert nacks.poll_timeout() == REORDER_US
    assert nacks.poll(now_us=REORDER_US, rtt_us=DEFAULT_RTT_US) == (2, 3)


def test_a_packet_that_was_only_overtaken_is_not_asked_for():
    nacks = tracker(1, 3)
    nacks.received(2, now_us=REORDER_US - 1)
    assert nacks.poll(now_us=REORDER_US, rtt_us=DEFAULT_RTT_US) == ()


@pytest.mark.parametrize("rtt_us", [DEFAULT_RTT_US, 30_000])
def test_each_number_is_asked_for_once_a_round_trip_and_given_up_in_the_end(rtt_us):
    nacks = tracker(1, 3)
    times = []
    now_us = 0
    while (due_us := nacks.poll_timeout()) is not None:
        assert due_us >= now_us
        now_us = due_us
        assert nacks.poll(now_us=now_us, rtt_us=rtt_us) == (2,)
        times.append(now_us)
    assert times == [REORDER_US + i * rtt_us for i in range(MAX_TRIES)]


def test_what_could_not_be_shown_any_more_is_not_asked_for():
    nacks = tracker(1, 4)
    nacks.discard_through(2)
    assert nacks.missing == (3,)
    nacks.discard_through(10)
    nacks.received(12, now_us=0)
    assert nacks.missing == (11,)


def test_more_than_can_be_repaired_is_not_asked_for():
    nacks = tracker(1, 3, MAX_MISSING + 10)
    assert nacks.missing == ()
    nacks.received(MAX_MISSING + 12, now_us=0)
    assert nacks.missing == (MAX_MISSING + 11,)


def test_as_much_as_can_be_repaired_is_asked_for():
    nacks = tracker(0, MAX_MISSING + 1)
    assert nacks.missing == tuple(range(1, MAX_MISSING + 1))
