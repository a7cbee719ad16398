"""What feedback may change, and what it may not, whoever sends it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.messages import Feedback
from codecpilot.rtc.rtp.rtcp_transport_feedback import TransportFeedback
from codecpilot.rtc.transport_history import KEEP_US, MAX_PACKETS, TransportHistory

PACKET_US = 10_000
# The receiver's clock less ours: 2^24 steps of 64 ms begin anew soon after.
OFFSET_US = ((1 << 24) - 20) * 64_000
DELAY_US = 30_000


class Path:
    """Packets of 1000 bytes, 10 ms apart, that arrive 30 ms later."""

    def __init__(self) -> None:
        self.history = TransportHistory()
        self.now_us = 0

    def send(self, count: int) -> None:
        for _ in range(count):
            self.now_us += PACKET_US
            self.history.add(1000, probe_id=None, now_us=self.now_us)

    def message(
        self, base: int, arrived: list[bool], *, late_us: int = 0, first_us: int | None = None
    ) -> TransportFeedback:
        """Feedback on packets from number base (0 is the first sent); each as it would have come."""
        if first_us is None:
            first_us = (base + 1) * PACKET_US
        time_us = OFFSET_US + first_us + DELAY_US + late_us
        reference = time_us // 64_000
        last_us, statuses = reference * 64_000, []
        for i, has_arrived in enumerate(arrived):
            if has_arrived:
                statuses.append((time_us + i * PACKET_US - last_us) // 250)
                last_us += statuses[-1] * 250
            else:
                statuses.append(None)
        return TransportFeedback(
            sender_ssrc=1,
            media_ssrc=2,
            base_sequence=base & 0xFFFF,
            reference_time=reference & 0xFFFFFF,
            feedback_count=0,
            statuses=tuple(statuses),
        )

    def hear(self, message: TransportFeedback, *, after_us: int = 2 * DELAY_US) -> Feedback | None:
        return self.history.handle_feedback(message, now_us=self.now_us + after_us)


def said(feedback: Feedback | None) -> list[tuple[int, bool]]:
    assert feedback is not None
    return [(r.packet.number, r.arrival_us is not None) for r in feedback.results]


def test_results_tell_what_was_sent_when_it_was_sent_and_when_it_arrived():
    path = Path()
    path.send(4)
    feedback = path.hear(path.message(0, [True, False, True, True]))
    assert said(feedback) == [(0, True), (1, False), (2, True), (3, True)]
    delays = [r.arrival_us - r.packet.sent_us for r in feedback.results if r.arrival_us]
    assert max(delays) - min(delays) <= 250
    assert [r.packet.sent_us for r in feedback.results] == [10_000, 20_000, 30_000, 40_000]
    assert {r.packet.size_bytes for r in feedback.results} == {1000}


def test_numbers_and_reference_times_wrap_without_a_trace():
    path = Path()
    delays = []
    for base in range(0, 70_000, 10):
        path.send(10)
        feedback = path.hear(path.message(base, [True] * 10))
        assert said(feedback) == [(base + i, True) for i in range(10)]
        delays += [r.arrival_us - r.packet.sent_us for r in feedback.results]
    assert max(delays) - min(delays) <= 250
    assert path.history.counters.received == 7_000
    assert len(path.history) <= KEEP_US // PACKET_US + 1


def test_what_no_feedback_spoke_of_is_in_flight():
    path = Path()
    path.send(10)
    assert path.history.in_flight_bytes == 10_000
    assert path.hear(path.message(0, [True] * 4)) is not None
    assert path.history.in_flight_bytes == 6_000
    # Feedback on 4 and 5 was lost: those are not under way any more.
    assert path.hear(path.message(6, [True, False])) is not None
    assert path.history.in_flight_bytes == 2_000
    assert path.hear(path.message(4, [True, True])) is not None
    assert path.history.in_flight_bytes == 2_000
    path.now_us += 2 * KEEP_US
    path.send(1)
    assert path.history.in_flight_bytes == 1_000
    assert len(path.history) == 1


def test_a_packet_arrives_once_and_may_do_so_after_it_was_reported_missing():
    path = Path()
    path.send(3)
    assert said(path.hear(path.message(0, [True, False, True]))) == [
        (0, True),
        (1, False),
        (2, True),
    ]
    assert path.hear(path.message(0, [True, False, True])) is None
    assert said(path.hear(path.message(0, [False, True, True]))) == [(1, True)]
    assert path.hear(path.message(0, [False, False, False])) is None
    counters = path.history.counters
    assert (counters.without_news, counters.repeated_numbers) == (2, 3 + 2 + 3)


@pytest.mark.parametrize("base", [3, 100, 20_000, 40_000, 65_530])
def test_numbers_that_were_never_sent_change_nothing(base):
    path = Path()
    path.send(3)
    assert path.hear(path.message(base, [True] * 3, first_us=0)) is None
    assert path.history.in_flight_bytes == 3_000
    assert path.history.counters.unknown_numbers == 3
    assert said(path.hear(path.message(0, [True] * 3))) == [(0, True), (1, True), (2, True)]


def test_feedback_that_goes_beyond_what_was_sent_counts_as_far_as_it_was():
    path = Path()
    path.send(3)
    assert said(path.hear(path.message(1, [True] * 5), after_us=100_000)) == [(1, True), (2, True)]
    assert path.history.counters.unknown_numbers == 3


@pytest.mark.parametrize("late_us", [-(1 << 33), -1_000_000, 1_000_000, 1 << 33])
def test_absurd_times_change_nothing_and_true_ones_still_count(late_us):
    path = Path()
    path.send(10)
    path.hear(path.message(0, [True] * 5))
    assert path.hear(path.message(5, [True] * 5, late_us=late_us)) is None
    assert path.history.counters.refused_times == 1
    assert path.history.in_flight_bytes == 5_000
    feedback = path.hear(path.message(5, [True] * 5))
    assert [r.packet.number for r in feedback.results] == [5, 6, 7, 8, 9]
    assert feedback.results[0].arrival_us == OFFSET_US + 60_000 + DELAY_US


def test_a_flood_is_refused_at_next_to_no_cost_and_ends_without_a_trace():
    path = Path()
    path.send(100)
    message = path.message(0, [False] * 8000)
    started = time.process_time()
    for _ in range(5_000):
        path.hear(message)
    # 5000 such messages read whole take 20 s.
    assert time.process_time() - started < 1
    counters = path.history.counters
    assert 4_990 <= counters.refused_floods <= 4_999
    path.send(1_000)
    assert len(path.hear(path.message(1_050, [True] * 50)).results) == 50


def test_memory_is_bounded_however_much_is_sent_at_once():
    history = TransportHistory()
    for _ in range(3 * MAX_PACKETS):
        history.add(1000, probe_id=None, now_us=0)
    assert len(history) == MAX_PACKETS
    assert history.in_flight_bytes == 1000 * MAX_PACKETS


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 30),
            st.one_of(st.integers(-40, 40), st.integers(0, 65535)),
            st.one_of(st.just(0), st.integers(-(1 << 24), 1 << 24)),
            st.lists(
                st.one_of(st.none(), st.integers(0, 120), st.integers(-(1 << 15), (1 << 15) - 1)),
                min_size=1,
                max_size=40,
            ),
        ),
        max_size=30,
    )
)
def test_never_more_is_acknowledged_than_was_sent_and_nothing_twice(steps):
    path = Path()
    arrived: set[int] = set()
    missing: set[int] = set()
    sent = 0
    for count, base, reference, statuses in steps:
        path.send(count)
        sent += count
        before = path.history.in_flight_bytes
        message = TransportFeedback(
            sender_ssrc=1,
            media_ssrc=2,
            base_sequence=(sent + base) & 0xFFFF,
            reference_time=((OFFSET_US + path.now_us) // 64_000 + reference) & 0xFFFFFF,
            feedback_count=0,
            statuses=tuple(statuses),
        )
        feedback = path.hear(message)
        if feedback is None:
            assert path.history.in_flight_bytes == before
            continue
        numbers = [r.packet.number for r in feedback.results]
        assert numbers == sorted(set(numbers))
        assert numbers
        assert 0 <= numbers[0] <= numbers[-1] < sent
        assert 0 <= path.history.in_flight_bytes <= before
        for result in feedback.results:
            assert result.packet.number not in arrived
            if result.arrival_us is None:
                assert result.packet.number not in missing
                missing.add(result.packet.number)
            else:
                arrived.add(result.packet.number)
    assert len(arrived) * 1000 + path.history.in_flight_bytes <= sent * 1000
