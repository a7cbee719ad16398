"""The TCP-like flow against what the RFCs say of its window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.simulation.aimd_flow import (
    INITIAL_TIMEOUT_US,
    INITIAL_WINDOW_BYTES,
    MAX_WINDOW_BYTES,
    MIN_TIMEOUT_US,
    PACKET_BYTES,
    AimdFlow,
)

RTT_US = 100_000


def acknowledge(flow: AimdFlow, numbers: list[int], *, now_us: int) -> list[int]:
    for number in numbers:
        flow.handle_ack(number, now_us=now_us)
    return flow.poll_packets(now_us=now_us)


def test_ten_packets_leave_at_first_and_no_more_until_one_arrives():
    flow = AimdFlow()
    assert flow.poll_packets(now_us=0) == list(range(10))
    assert flow.poll_packets(now_us=50_000) == []
    assert flow.poll_timeout() == INITIAL_TIMEOUT_US


def test_slow_start_doubles_the_window_each_round_trip():
    flow, now_us = AimdFlow(), 0
    sent = flow.poll_packets(now_us=now_us)
    for packets in (20, 40, 80):
        now_us += RTT_US
        sent = acknowledge(flow, sent, now_us=now_us)
        assert len(sent) == packets
        assert flow.window_bytes == packets * PACKET_BYTES


def test_three_packets_that_overtake_halve_the_window_once_and_growth_is_slow_then():
    flow = AimdFlow()
    sent = flow.poll_packets(now_us=0)
    # Two are lost in one window.
    after = acknowledge(flow, [n for n in sent if n not in (2, 4)], now_us=RTT_US)
    # Acknowledgements before the loss shows grow the window: 0, 1, 3 and 4's successors.
    halved = flow.window_bytes
    assert 6 * PACKET_BYTES <= halved <= 7 * PACKET_BYTES
    first = acknowledge(flow, after, now_us=2 * RTT_US)
    window = flow.window_bytes
    acknowledge(flow, first, now_us=3 * RTT_US)
    # One packet a round trip.
    assert 0.7 * PACKET_BYTES <= flow.window_bytes - window <= 1.1 * PACKET_BYTES


def test_two_packets_that_overtake_are_no_loss():
    flow = AimdFlow()
    flow.poll_packets(now_us=0)
    acknowledge(flow, [1, 2, 0], now_us=RTT_US)
    assert flow.window_bytes == INITIAL_WINDOW_BYTES + 3 * PACKET_BYTES


def test_silence_begins_with_one_packet_again_and_waits_twice_as_long():
    flow = AimdFlow()
    sent = flow.poll_packets(now_us=0)
    acknowledge(flow, sent, now_us=RTT_US)
    due_us = flow.poll_timeout()
    assert due_us is not None
    assert RTT_US + MIN_TIMEOUT_US <= due_us <= RTT_US + 400_000
    flow.handle_timeout(now_us=due_us - 1)
    assert flow.poll_packets(now_us=due_us - 1) == []
    flow.handle_timeout(now_us=due_us)
    assert flow.window_bytes == PACKET_BYTES
    assert len(flow.poll_packets(now_us=due_us)) == 1
    again_us = flow.poll_timeout()
    assert again_us is not None
    assert again_us - due_us == 2 * (due_us - RTT_US)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 300_000)), max_size=200))
def test_the_window_keeps_its_bounds_whatever_is_acknowledged(acks):
    flow, now_us, sent = AimdFlow(), 0, 0
    for back, gap_us in acks:
        sent += len(flow.poll_packets(now_us=now_us))
        now_us += gap_us
        due_us = flow.poll_timeout()
        if due_us is not None and due_us <= now_us:
            flow.handle_timeout(now_us=now_us)
        flow.handle_ack(sent - back, now_us=now_us)
        assert PACKET_BYTES <= flow.window_bytes <= MAX_WINDOW_BYTES
