from __future__ import annotations

import pytest

from codecpilot.rtc.resilience.nack import (
    DEFAULT_RTT_US,
    MAX_AGE_US,
    MAX_DISCARDABLE_RTT_US,
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


def gap(*, layer: int = 0, wait_us: int = 0) -> NackTracker:
    """A tracker that misses number 2."""
    nacks = tracker(1)
    assert not nacks.opens_gap(2)
    assert nacks.opens_gap(3)
    nacks.received(3, now_us=0, layer=layer, wait_us=wait_us)
    return nacks


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("rtt_us", [MAX_DISCARDABLE_RTT_US, MAX_DISCARDABLE_RTT_US + 1])
def test_an_upper_layer_is_asked_for_only_on_short_paths(layer, rtt_us):
    nacks = gap(layer=layer)
    asked = layer == 0 or rtt_us <= MAX_DISCARDABLE_RTT_US
    assert nacks.poll(now_us=REORDER_US, rtt_us=rtt_us) == ((2,) if asked else ())
    assert nacks.missing == ((2,) if asked else ())


def test_only_the_base_layer_stands_in_the_way():
    assert gap(layer=0).last_base == 2
    nacks = gap(layer=1)
    assert nacks.last_base is None
    nacks.received(6, now_us=0)
    assert nacks.missing == (2, 4, 5)
    assert nacks.last_base == 5


def test_what_fec_may_give_back_is_asked_for_later():
    nacks = gap(wait_us=40_000)
    assert nacks.poll(now_us=REORDER_US + 39_999, rtt_us=DEFAULT_RTT_US) == ()
    assert nacks.poll(now_us=REORDER_US + 40_000, rtt_us=DEFAULT_RTT_US) == (2,)


def test_what_fec_did_not_give_back_is_asked_for_at_once():
    nacks = gap(wait_us=40_000)
    nacks.hasten([1, 2, 3, 99], now_us=20_000)
    assert nacks.poll_timeout() == 20_000
    assert nacks.poll(now_us=20_000, rtt_us=DEFAULT_RTT_US) == (2,)
    nacks.hasten([2], now_us=30_000)
    assert nacks.poll_timeout() == 20_000 + DEFAULT_RTT_US


def test_haste_leaves_time_for_packets_that_were_overtaken():
    nacks = gap(wait_us=40_000)
    nacks.hasten([2], now_us=1_000)
    assert nacks.poll_timeout() == REORDER_US


@pytest.mark.parametrize("layer", [0, 1])
def test_giving_up_is_told_once_and_only_of_the_base_layer(layer):
    nacks = gap(layer=layer)
    for i in range(MAX_TRIES):
        assert nacks.take_given_up() is None
        assert nacks.poll(now_us=REORDER_US + i * 1_000, rtt_us=1_000) == (2,)
    assert nacks.take_given_up() == (2 if layer == 0 else None)
    assert nacks.take_given_up() is None


def test_what_is_too_old_to_be_shown_is_not_asked_for():
    nacks = gap()
    assert nacks.poll(now_us=MAX_AGE_US, rtt_us=DEFAULT_RTT_US) == (2,)
    assert nacks.poll(now_us=MAX_AGE_US + DEFAULT_RTT_US, rtt_us=DEFAULT_RTT_US) == ()
    assert nacks.take_given_up() == 2


def test_more_than_can_be_repaired_is_given_up():
    nacks = tracker(1, MAX_MISSING + 10)
    assert nacks.take_given_up() == MAX_MISSING + 9
