"""Arrivals by transport-wide numbers: each counted once, and nothing that a stranger sends does harm."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.transport_arrivals import MAX_DROPOUT, MAX_MISORDER, TransportArrivals


def add(arrivals: TransportArrivals, *numbers: int, start_us: int = 0) -> list[bool]:
    return [
        arrivals.add(number & 0xFFFF, arrival_us=start_us + 1000 * index)
        for index, number in enumerate(numbers)
    ]


def taken(arrivals: TransportArrivals) -> list[int]:
    assert arrivals.most_taken >= 0
    bound = arrivals.most_taken
    numbers = [number for number, _ in arrivals.take()]
    assert len(numbers) <= bound
    return numbers


def test_only_the_first_copy_counts():
    arrivals = TransportArrivals()
    assert add(arrivals, 5, 6, 5, 6) == [True, True, False, False]
    assert arrivals.take() == [(5, 0), (6, 1000)]
    assert add(arrivals, 5, 6) == [False, False], "nor a copy of one that was told"


def test_numbers_go_on_over_the_wrap():
    arrivals = TransportArrivals()
    add(arrivals, 65_534, 65_535, 0, 2)
    assert arrivals.skipped == 1
    assert taken(arrivals) == [65_534, 65_535, 65_536, 65_538]
    assert arrivals.next_number == 65_539


def test_a_late_packet_is_told_with_those_between_it_and_the_newest():
    arrivals = TransportArrivals()
    add(arrivals, 10, 12, 13)
    assert taken(arrivals) == [10, 12, 13]
    assert add(arrivals, 11, 14) == [True, True]
    assert arrivals.next_number == 11
    assert taken(arrivals) == [11, 12, 13, 14]


def test_a_packet_later_than_what_is_remembered_is_ignored():
    arrivals = TransportArrivals()
    add(arrivals, 0, MAX_MISORDER + 1)
    assert add(arrivals, 1) == [True]
    assert add(arrivals, MAX_MISORDER + 2, 1, 2) == [True, False, True]
    assert add(arrivals, MAX_MISORDER + 3, 2) == [True, False]


def test_a_single_leap_is_ignored_and_two_in_sequence_begin_anew():
    for leap in (MAX_DROPOUT + 2, 0x8000, -MAX_MISORDER - 1):
        arrivals = TransportArrivals()
        add(arrivals, 100, 101)
        assert add(arrivals, 101 + leap) == [False]
        assert add(arrivals, 102) == [True]
        assert add(arrivals, 101 + leap, 102 + leap) == [False, True]
        first = 101 + leap & 0xFFFF
        assert taken(arrivals) == [first, first + 1]


def test_a_leap_within_what_the_rfc_allows_is_a_gap():
    arrivals = TransportArrivals()
    assert add(arrivals, 100, 100 + MAX_DROPOUT) == [True, True]
    assert arrivals.skipped == MAX_DROPOUT - 1
    assert taken(arrivals) == [100, 100 + MAX_DROPOUT]


def test_memory_is_bounded_when_nobody_asks():
    arrivals = TransportArrivals()
    for number in range(20_000):
        arrivals.add(number & 0xFFFF, arrival_us=number)
        assert len(arrivals._arrivals) <= 2 * MAX_DROPOUT
    assert arrivals.span == MAX_DROPOUT + 1
    assert taken(arrivals) == list(range(20_000 - MAX_DROPOUT - 1, 20_000))
    assert len(arrivals._arrivals) <= MAX_MISORDER + 1


@given(st.integers(0, 2**32), st.sampled_from([0x10000, 200, 7000]))
def test_hostile_numbers_are_told_at_most_once_anew(seed: int, circle: int):
    rng = random.Random(seed)
    arrivals = TransportArrivals()
    for index in range(400):
        arrivals.add(rng.randrange(circle), arrival_us=index)
        if rng.random() < 0.1:
            numbers = taken(arrivals)
            assert numbers == sorted(set(numbers))
            assert len(numbers) <= MAX_DROPOUT + 1
            assert arrivals.span == 0
        assert 0 <= arrivals.span <= MAX_DROPOUT + 1
