"""A receiver with long-term references: what it acknowledges, what it asks for, and when a key frame is asked for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.rtc.key_requests import (
    MIN_INTERVAL_US,
    MIN_STALL_US,
    REFERENCE_MARGIN_US,
    REPAIR_MARGIN_US,
)
from codecpilot.rtc.resilience.ltr_receiver import ACK_WAIT_US, MAX_ACKS
from codecpilot.rtc.resilience.nack import MAX_MISSING, REORDER_US
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch
from codecpilot.rtc.rtp.rtcp import (
    LtrAcknowledgement,
    Nack,
    PictureLossIndication,
    ReferencePictureSelection,
)

from tests.rtc.fakes import FRAME_US
from tests.rtc.handmade import AV1, SSRC, Stream, Viewer, again

RTT_US = 100_000


def started(**options: object) -> tuple[Stream, Viewer]:
    """A call whose key frame, and four frames after it, were shown."""
    stream, viewer = Stream(), Viewer(flexfec=False, rtt_us=RTT_US, **options)
    for frame_id in range(5):
        viewer.take(*stream.frame(frame_id, needs=frame_id - 1 if frame_id else None))
        viewer.wait()
    return stream, viewer


def lose_frame(stream: Stream, viewer: Viewer, *, frames: int, first: int = 5) -> int:
    """Lose a frame and go on with some that need it; the time at which the loss showed."""
    stream.frame(first, needs=first - 1)
    shown_us = viewer.now_us
    for frame_id in range(first + 1, first + 1 + frames):
        viewer.take(*stream.frame(frame_id, needs=frame_id - 1))
        viewer.wait()
    return shown_us


def rpsi_times(viewer: Viewer) -> list[int]:
    return [time_us for time_us, _ in viewer.answered(ReferencePictureSelection)]


def pli_times(viewer: Viewer) -> list[int]:
    return [time_us for time_us, _ in viewer.answered(PictureLossIndication)]


def test_a_decoded_ltr_is_acknowledged_by_rtcp_where_no_media_does_it():
    _, viewer = started()
    viewer.wait(2_000_000)
    acks = viewer.answered(LtrAcknowledgement)
    assert [m.frame_ids for _, m in acks] == [(0,)] * MAX_ACKS
    assert acks[0][1] == LtrAcknowledgement(sender_ssrc=3333, media_ssrc=SSRC, frame_ids=(0,))
    assert acks[0][0] == 1_000_000 + ACK_WAIT_US
    assert [b - a for (a, _), (b, _) in pairwise(acks)] == [RTT_US] * (MAX_ACKS - 1)
    assert viewer.counters.ltrAckCount == MAX_ACKS


def test_own_media_that_carries_the_acknowledgement_saves_rtcp():
    stream, viewer = Stream(), Viewer()
    for frame_id in range(30):
        viewer.take(*stream.frame(frame_id, needs=frame_id - 1 if frame_id else None))
        assert viewer.core.ltr_ack == 0
        viewer.core.handle_ltr_ack_sent(0, now_us=viewer.now_us)
        viewer.wait()
    assert viewer.answered(LtrAcknowledgement) == []


def test_the_newest_ltr_is_what_is_acknowledged_once_it_was_decoded():
    stream, viewer = started()
    packets = stream.frame(5, needs=4, packets=2, ltr=True)
    viewer.take(packets[0])
    assert viewer.core.ltr_ack == 0
    viewer.take(packets[1])
    assert viewer.core.ltr_ack == 5
    viewer.take(*stream.frame(6, needs=5, ltr=True, mark_id=0xFFFF))
    assert viewer.core.ltr_ack == 0xFFFF


def test_a_recovery_frame_ends_the_repetition_of_what_it_goes_on_from():
    stream, viewer = started()
    viewer.wait(RTT_US)
    before = viewer.counters.ltrAckCount
    assert 1 <= before < MAX_ACKS
    viewer.take(*stream.frame(9, needs=0, recovery=True))
    viewer.wait(1_000_000)
    assert viewer.counters.ltrAckCount == before
    assert viewer.counters.recoveryFramesDecoded == 1


def test_what_is_lost_for_longer_than_a_repair_takes_is_answered_by_rpsi_and_no_pli():
    stream, viewer = started()
    shown_us = lose_frame(stream, viewer, frames=4)
    asked = viewer.answered(ReferencePictureSelection)
    assert asked == [
        (
            shown_us + RTT_US + REPAIR_MARGIN_US,
            ReferencePictureSelection(
                sender_ssrc=3333, media_ssrc=SSRC, payload_type=AV1, frame_id=0
            ),
        )
    ]
    viewer.take(*stream.frame(10, needs=0, recovery=True))
    assert viewer.decoded == [0, 1, 2, 3, 4, 10]
    viewer.take(*stream.frame(11, needs=10))
    viewer.wait(2_000_000)
    assert viewer.decoded[-1] == 11
    assert pli_times(viewer) == []
    assert viewer.counters.rpsiCount == 1


def test_a_retransmission_in_time_makes_the_request_needless():
    stream, viewer = started()
    (lost,) = stream.frame(5, needs=4)
    viewer.take(*stream.frame(6, needs=5))
    viewer.wait(REORDER_US + RTT_US)
    assert len(viewer.answered(Nack)) >= 1
    viewer.take(again(lost))
    viewer.wait(1_000_000)
    assert viewer.decoded[-1] == 6
    assert rpsi_times(viewer) == pli_times(viewer) == []


def test_the_request_is_repeated_once_a_round_trip_and_becomes_a_pli_in_the_end():
    stream, viewer = started()
    shown_us = lose_frame(stream, viewer, frames=20)
    first_us = shown_us + RTT_US + REPAIR_MARGIN_US
    asked, plis = rpsi_times(viewer), pli_times(viewer)
    assert asked[:3] == [first_us + i * RTT_US for i in range(3)]
    assert all(b - a >= RTT_US for a, b in pairwise(asked))
    assert plis[0] == first_us + 2 * RTT_US + REFERENCE_MARGIN_US
    assert all(b - a >= MIN_INTERVAL_US for a, b in pairwise(plis))
    viewer.take(*stream.frame(40))
    asked_before = viewer.counters.rpsiCount + viewer.counters.pliCount
    viewer.wait(1_000_000)
    assert viewer.counters.rpsiCount + viewer.counters.pliCount == asked_before


def test_a_frame_that_goes_on_is_not_waited_for_when_it_is_lost_itself():
    stream, viewer = started()
    lose_frame(stream, viewer, frames=5)
    (lost,) = stream.frame(11, needs=0, recovery=True)
    viewer.take(*stream.frame(12, needs=11))
    viewer.wait(REORDER_US)
    viewer.wait(RTT_US)
    assert len(rpsi_times(viewer)) >= 2
    viewer.take(again(lost))
    assert viewer.decoded[-1] == 12


def test_more_than_can_be_repaired_is_answered_at_once():
    stream, viewer = started()
    for _ in range(MAX_MISSING + 1):
        stream.frame(5, needs=4)
    viewer.take(*stream.frame(6, needs=5))
    assert rpsi_times(viewer) == [viewer.now_us]
    assert viewer.answered(Nack) == []


def test_without_a_reference_nothing_changes():
    """Marks are absent where they were not agreed on: only the key frame's is taken out here."""
    stream = Stream()
    viewer = Viewer(flexfec=False, resilience=ResilienceSettings(ltr=Switch.OFF))
    for frame_id in range(5):
        viewer.take(*stream.frame(frame_id, needs=frame_id - 1 if frame_id else None))
        viewer.wait()
    shown_us = lose_frame(stream, viewer, frames=20)
    assert viewer.core.ltr_ack is None
    assert viewer.answered(LtrAcknowledgement) == []
    assert rpsi_times(viewer) == []
    assert pli_times(viewer)[0] == shown_us + max(MIN_STALL_US, 3 * RTT_US)


def test_a_decoder_that_failed_is_helped_by_a_key_frame_alone():
    stream, viewer = started()
    viewer.fails = {5}
    viewer.take(*stream.frame(5, needs=4))
    assert viewer.core.ltr_ack is None
    viewer.take(*stream.frame(6, needs=0, recovery=True))
    viewer.wait(500_000)
    assert viewer.decoded[-1] == 4
    assert rpsi_times(viewer) == []
    assert 2 <= len(pli_times(viewer)) <= 4


def test_a_slow_frame_is_not_taken_for_a_lost_one():
    stream, viewer = started()
    packets = stream.frame(5, needs=4, packets=8)
    for packet in packets:
        viewer.take(packet)
        viewer.wait(25_000)
    assert viewer.decoded[-1] == 5
    assert rpsi_times(viewer) == viewer.answered(Nack) == []


def test_switched_off_retransmission_is_not_waited_for():
    stream, viewer = started(resilience=ResilienceSettings(nack=Switch.OFF))
    shown_us = lose_frame(stream, viewer, frames=2)
    assert viewer.answered(Nack) == []
    assert rpsi_times(viewer)[0] == shown_us + REORDER_US


def test_key_frames_alone_are_asked_for_as_soon_as_something_is_lost():
    off = ResilienceSettings(nack=Switch.OFF, ltr=Switch.OFF, fec=Switch.OFF)
    stream, viewer = started(resilience=off)
    shown_us = lose_frame(stream, viewer, frames=10)
    assert pli_times(viewer)[:2] == [shown_us + REORDER_US, shown_us + REORDER_US + 200_000]
    assert rpsi_times(viewer) == viewer.answered(Nack) == []


def test_nothing_before_a_frame_that_can_be_decoded_is_asked_for():
    stream, viewer = started()
    lose_frame(stream, viewer, frames=1)
    asked = len(viewer.answered(Nack))
    viewer.take(*stream.frame(8, needs=0, recovery=True))
    viewer.wait(1_000_000)
    assert len(viewer.answered(Nack)) == asked


def test_acknowledgements_of_the_peer_are_handed_on_once():
    stream, viewer = Stream(), Viewer()
    viewer.take(*stream.frame(0, ack=7))
    for frame_id in range(1, 4):
        viewer.take(*stream.frame(frame_id, needs=frame_id - 1, ack=7))
    (repeated,) = stream.frame(4, needs=3, ack=8)
    viewer.take(*stream.frame(5, needs=4, ack=9), again(repeated))
    assert viewer.core.take_peer_acks() == [7, 9]
    assert viewer.core.take_peer_acks() == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["next", "lost", "ltr", "recovery", "stranger", "key"]),
            st.integers(0, 65_535),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_whatever_marks_say_answers_are_few_and_the_next_key_frame_is_shown(frames):
    stream, viewer = started()
    begun_us, newest = viewer.now_us, 0
    for frame_id, (kind, mark_id) in enumerate(frames, start=5):
        options = {"ltr": kind == "ltr", "recovery": kind in ("recovery", "stranger")}
        needs = newest if kind == "recovery" else frame_id - 1
        needs = max(0, frame_id - 1 - mark_id % 60) if kind == "stranger" else needs
        packets = stream.frame(
            frame_id, needs=None if kind == "key" else needs, mark_id=mark_id, **options
        )
        if kind != "lost":
            viewer.take(*packets)
        newest = frame_id if kind in ("key", "ltr") else newest
        viewer.wait()
    elapsed_us = viewer.now_us - begun_us
    asked, plis, acks = rpsi_times(viewer), pli_times(viewer), viewer.answered(LtrAcknowledgement)
    assert all(b - a >= RTT_US for a, b in pairwise(asked))
    assert all(b - a >= MIN_INTERVAL_US for a, b in pairwise(plis))
    assert len(acks) <= 5 + elapsed_us // ACK_WAIT_US
    viewer.take(*stream.frame(100))
    assert viewer.decoded[-1] == 100
    assert viewer.core.ltr_ack == 100


@pytest.mark.parametrize("rtt_us", [1_000, 40_000, 300_000])
def test_a_flood_of_marks_and_losses_is_answered_seldom(rtt_us):
    stream, viewer = started()
    viewer.core.set_rtt(rtt_us)
    begun_us = viewer.now_us
    for frame_id in range(5, 1500):
        packets = stream.frame(frame_id, needs=frame_id - 1, ltr=True, recovery=frame_id % 2 == 0)
        if frame_id % 3:
            viewer.take(*packets)
        viewer.wait(1_000)
    elapsed_us = viewer.now_us - begun_us
    assert len(rpsi_times(viewer)) <= 1 + elapsed_us // max(rtt_us, FRAME_US - 1_000)
    assert len(pli_times(viewer)) <= 1 + elapsed_us // MIN_INTERVAL_US
    assert len(viewer.answered(LtrAcknowledgement)) <= 1 + elapsed_us // ACK_WAIT_US
