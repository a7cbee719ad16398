from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.in_flight import MAX_PACKETS, RTT_WINDOW_US, InFlight
from codecpilot.ratecontrol.bandwidth.messages import SentPacket

MBPS = 1_000_000.0


def packet(number: int, sent_us: int, *, size_bytes: int = 1_250) -> SentPacket:
    return SentPacket(number=number, sent_us=sent_us, size_bytes=size_bytes)


def sent(*times_us: int) -> tuple[InFlight, list[SentPacket]]:
    """Packets of 10 ms at the capacity each."""
    in_flight, packets = InFlight(), [packet(i, at_us) for i, at_us in enumerate(times_us)]
    for each in packets:
        in_flight.sent(each, capacity_bps=MBPS)
    return in_flight, packets


def test_nothing_waits_before_anything_is_sent() -> None:
    in_flight = InFlight()
    assert in_flight.is_empty
    assert in_flight.last_sent_us is None
    assert in_flight.base_rtt_us is None
    assert in_flight.queue_us(5) == 0
    assert in_flight.late_us(5, allowance_us=0) == 0


def test_a_burst_is_a_queue_at_once_and_drains_with_time() -> None:
    in_flight, _ = sent(0, 0, 0)
    assert not in_flight.is_empty
    assert in_flight.queue_us(0) == 30_000
    assert in_flight.queue_us(20_000) == 10_000
    assert in_flight.queue_us(40_000) == 0


def test_packets_at_the_capacity_make_no_longer_queue_than_one() -> None:
    in_flight, _ = sent(*range(0, 1_000_000, 10_000))
    assert in_flight.queue_us(990_000) == 10_000
    assert in_flight.last_sent_us == 990_000


def test_feedback_corrects_the_queue_and_counts_what_left_later() -> None:
    in_flight, packets = sent(0, 5_000, 10_000)
    # The first waited for 100 ms: then it takes 10 ms itself, and two more are behind it.
    in_flight.answered(packets[0], queue_us=100_000, capacity_bps=MBPS, now_us=150_000)
    assert in_flight.queue_us(10_000) == 120_000
    in_flight.answered(packets[2], queue_us=0, capacity_bps=MBPS, now_us=160_000)
    assert in_flight.is_empty
    assert in_flight.queue_us(15_000) == 5_000


def test_a_lower_capacity_makes_what_is_in_flight_a_longer_queue() -> None:
    in_flight, packets = sent(0, 5_000, 10_000)
    in_flight.answered(packets[0], queue_us=0, capacity_bps=MBPS / 4, now_us=50_000)
    assert in_flight.queue_us(10_000) == 110_000


def test_the_round_trip_is_the_least_without_queue_of_the_last_seconds() -> None:
    in_flight = InFlight()
    for number, (now_us, rtt_us, queue_us) in enumerate(
        ((1_000_000, 70_000, 10_000), (2_000_000, 150_000, 100_000), (3_000_000, 90_000, 0))
    ):
        each = packet(number, now_us - rtt_us)
        in_flight.sent(each, capacity_bps=MBPS)
        in_flight.answered(each, queue_us=queue_us, capacity_bps=MBPS, now_us=now_us)
        assert in_flight.base_rtt_us == (60_000, 50_000, 50_000)[number]
    now_us = 2_000_000 + RTT_WINDOW_US + 1
    last = packet(9, now_us - 100_000)
    in_flight.answered(last, queue_us=0, capacity_bps=MBPS, now_us=now_us)
    assert in_flight.base_rtt_us == 90_000


def test_a_queue_that_is_said_to_be_longer_than_the_round_trip_makes_it_no_less_than_none() -> None:
    in_flight = InFlight()
    for number, queue_us in enumerate((0, 29_999, 2_001, 0)):
        each = packet(number, 1_000_000 + 1_000 * number)
        in_flight.sent(each, capacity_bps=MBPS)
        in_flight.answered(each, queue_us=queue_us, capacity_bps=MBPS, now_us=each.sent_us + 2_000)
        assert in_flight.base_rtt_us == (2_000, 0, 0, 0)[number]


def test_an_answer_is_late_beyond_round_trip_queue_and_allowance() -> None:
    in_flight = InFlight()
    first = packet(0, 0)
    in_flight.sent(first, capacity_bps=MBPS)
    in_flight.answered(first, queue_us=0, capacity_bps=MBPS, now_us=50_000)
    assert in_flight.late_us(10**9, allowance_us=0) == 0
    in_flight.sent(packet(1, 100_000), capacity_bps=MBPS)
    # 50 ms of the round trip, 10 ms of its own size, 20 ms allowed.
    assert in_flight.late_us(180_000, allowance_us=20_000) == 0
    assert in_flight.late_us(187_000, allowance_us=20_000) == 7_000


def test_a_path_that_never_answers_is_remembered_for_a_bounded_time() -> None:
    in_flight, packets = sent(*range(0, 3 * MAX_PACKETS * 10_000, 10_000))
    in_flight.answered(packets[0], queue_us=0, capacity_bps=MBPS, now_us=10**9)
    assert in_flight.queue_us(packets[-1].sent_us) == pytest.approx(10_000)
    late = packets[-MAX_PACKETS]
    # The oldest that is remembered is the first whose answer can be late.
    expected_us = late.sent_us + 10**9 + 10_000
    assert in_flight.late_us(expected_us, allowance_us=0) == pytest.approx(0, abs=10_000)
    assert in_flight.late_us(expected_us + 50_000, allowance_us=0) == pytest.approx(
        50_000, abs=10_000
    )


@given(
    st.lists(st.tuples(st.integers(0, 100_000), st.integers(1, 1_500), st.booleans()), max_size=80),
    st.floats(10_000, 10_000_000),
)
def test_the_queue_is_never_negative_nor_more_than_all_that_was_sent(
    steps: list[tuple[int, int, bool]], capacity_bps: float
) -> None:
    in_flight, now_us, total_us = InFlight(), 0, 0.0
    for number, (gap_us, size_bytes, is_answered) in enumerate(steps):
        now_us += gap_us
        each = packet(number, now_us, size_bytes=size_bytes)
        total_us += size_bytes * 8e6 / capacity_bps
        in_flight.sent(each, capacity_bps=capacity_bps)
        if is_answered:
            in_flight.answered(each, queue_us=0, capacity_bps=capacity_bps, now_us=now_us)
        assert 0 <= in_flight.queue_us(now_us) <= total_us + 1
        assert in_flight.is_empty == is_answered
