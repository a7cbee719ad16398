from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.resilience.ltr_receiver import ACK_WAIT_US, MAX_ACKS, LtrReceiver, PeerAcks

RTT_US = 100_000


def acks(ltr: LtrReceiver, *, until_us: int, rtt_us: int = RTT_US) -> list[tuple[int, int]]:
    """Times and ids of the acknowledgements by RTCP, timer by timer."""
    out = []
    while (due_us := ltr.poll_timeout()) is not None and due_us <= until_us:
        assert ltr.poll(now_us=due_us - 1, rtt_us=rtt_us) is None
        frame_id = ltr.poll(now_us=due_us, rtt_us=rtt_us)
        assert frame_id is not None
        out.append((due_us, frame_id))
    return out


def decoded(frame_id: int = 40) -> LtrReceiver:
    ltr = LtrReceiver()
    ltr.decoded_ltr(frame_id, now_us=0)
    return ltr


def test_before_an_ltr_was_decoded_there_is_nothing_to_say():
    assert LtrReceiver().newest is None
    assert acks(LtrReceiver(), until_us=10**9) == []


def test_an_acknowledgement_that_no_media_carries_is_repeated_a_few_times():
    times = [ACK_WAIT_US + i * RTT_US for i in range(MAX_ACKS)]
    assert acks(decoded(), until_us=10**9) == [(t, 40) for t in times]


def test_media_that_carries_it_makes_rtcp_needless_as_long_as_it_flows():
    ltr = decoded()
    for now_us in range(30_000, 1_000_000, 33_000):
        assert acks(ltr, until_us=now_us) == []
        ltr.carried(40, now_us=now_us, rtt_us=RTT_US)
    assert acks(ltr, until_us=now_us + RTT_US - 1) == []
    assert acks(ltr, until_us=now_us + RTT_US) == [(now_us + RTT_US, 40)]


def test_media_that_carries_an_older_one_does_not_count():
    ltr = decoded()
    ltr.carried(39, now_us=40_000, rtt_us=RTT_US)
    assert ltr.poll_timeout() == ACK_WAIT_US


@pytest.mark.parametrize(
    ("dependencies", "confirms"),
    [((40,), True), ((40 + 65_536,), True), ((39,), False), ((), False), (None, True)],
)
def test_a_frame_that_goes_on_from_it_confirms_it(dependencies, confirms):
    ltr = decoded()
    ltr.decoded_recovery(dependencies)
    assert (ltr.poll_timeout() is None) == confirms
    assert ltr.newest == 40


def test_a_newer_one_takes_the_place_of_an_older_one():
    ltr = decoded()
    assert acks(ltr, until_us=ACK_WAIT_US) == [(ACK_WAIT_US, 40)]
    ltr.decoded_ltr(7, now_us=60_000)
    assert acks(ltr, until_us=120_000) == [(110_000, 7)]


def test_newer_ones_in_quick_succession_do_not_put_off_the_acknowledgement():
    ltr, out = LtrReceiver(), []
    for i in range(30):
        ltr.decoded_ltr(i, now_us=i * 33_000)
        out += acks(ltr, until_us=(i + 1) * 33_000 - 1)
    assert 12 <= len(out) <= 20
    assert all(b - a >= ACK_WAIT_US for (a, _), (b, _) in pairwise(out))


def test_after_a_key_frame_or_a_failure_no_older_one_counts():
    ltr = decoded()
    ltr.forget()
    assert ltr.newest is None
    assert acks(ltr, until_us=10**9) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ltr", "recovery", "forget", "carried"]),
            st.integers(0, 65_535),
            st.integers(0, 20_000),
        ),
        max_size=80,
    )
)
def test_whatever_ids_come_acknowledgements_are_few_and_name_the_newest(events):
    ltr, now_us, times = LtrReceiver(), 0, []
    for name, frame_id, elapsed_us in events:
        for due_us, acknowledged in acks(ltr, until_us=now_us + elapsed_us):
            assert acknowledged == ltr.newest
            times.append(due_us)
        now_us += elapsed_us
        if name == "ltr":
            ltr.decoded_ltr(frame_id, now_us=now_us)
            assert ltr.newest == frame_id
        elif name == "recovery":
            ltr.decoded_recovery((frame_id,))
        elif name == "forget":
            ltr.forget()
        else:
            ltr.carried(frame_id, now_us=now_us, rtt_us=RTT_US)
    assert all(b - a >= ACK_WAIT_US for a, b in pairwise(times))


def test_a_peer_s_acknowledgement_is_told_once_however_often_it_is_repeated():
    peer = PeerAcks()
    for frame_id in (5, 5, 5, 9, 9, 5):
        peer.received(frame_id)
    assert peer.take() == [5, 9, 5]
    peer.received(5)
    assert peer.take() == []


def test_a_flood_of_acknowledgements_leaves_the_newest():
    peer = PeerAcks()
    for frame_id in range(10_000):
        peer.received(frame_id)
    assert peer.take() == [9996, 9997, 9998, 9999]
