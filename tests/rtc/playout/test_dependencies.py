from __future__ import annotations

from dataclasses import replace

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.messages import ReceivedFrame
from codecpilot.rtc.playout.dependencies import MAX_WAITING, MAX_WAITING_BYTES, DecodeOrder


def frame(sequence: int, *needs: int, key=False, described=True, frame_id: int | None = None):
    return ReceivedFrame(
        data=b"",
        codec=Codec.AV1,
        key=key,
        frame_id=sequence if frame_id is None else frame_id,
        temporal_id=0,
        dependencies=needs if described else None,
        first_sequence=sequence,
        last_sequence=sequence,
        rtp_timestamp=sequence * 3000,
        capture_wall_us=None,
        first_us=0,
        complete_us=0,
    )


def before(sequence: int) -> int:
    return sequence - 1


def decode_all(order: DecodeOrder) -> list[int]:
    out = []
    while (next_frame := order.next_frame(before)) is not None:
        order.taken(next_frame)
        order.decoded(next_frame)
        out.append(next_frame.frame_id)
    return out


def test_frames_wait_for_what_they_depend_on():
    order = DecodeOrder()
    order.insert(frame(0, key=True))
    order.insert(frame(2, 1))
    assert decode_all(order) == [0]
    order.insert(frame(1, 0))
    assert decode_all(order) == [1, 2]


def test_a_frame_that_reads_an_older_reference_need_not_wait():
    # 1 and 2 are lost; 3 was predicted from the key frame, as a long-term reference is.
    order = DecodeOrder()
    order.insert(frame(0, key=True))
    assert decode_all(order) == [0]
    order.insert(frame(3, 0))
    assert decode_all(order) == [3]
    assert order.insert(frame(2, 1)) is False


def test_a_lost_enhancement_frame_holds_up_nothing():
    order = DecodeOrder()
    order.insert(frame(0, key=True))
    order.insert(frame(2, 0))
    assert decode_all(order) == [0, 2]


def test_without_a_descriptor_a_gap_stops_everything_but_a_key_frame():
    order = DecodeOrder()
    order.insert(frame(0, key=True, described=False))
    order.insert(frame(2, described=False))
    assert decode_all(order) == [0]
    order.insert(frame(5, key=True, described=False))
    assert decode_all(order) == [5]
    order.insert(frame(6, described=False))
    assert decode_all(order) == [6]


def test_nothing_but_a_key_frame_comes_first():
    order = DecodeOrder()
    order.insert(frame(1, described=False))
    order.insert(frame(2, 0))
    assert decode_all(order) == []


def test_after_a_key_frame_older_frames_are_no_reference():
    # Frame numbers of a codec without descriptors may coincide with older ones.
    order = DecodeOrder()
    order.insert(frame(0, key=True))
    order.insert(frame(1, key=True, frame_id=50))
    assert decode_all(order) == [0, 50]
    order.insert(frame(2, 0, frame_id=51))
    assert decode_all(order) == []


def test_after_a_failure_only_a_key_frame_is_given():
    order = DecodeOrder()
    order.insert(frame(0, key=True))
    assert decode_all(order) == [0]
    order.failed()
    order.insert(frame(1, 0))
    assert decode_all(order) == []
    order.insert(frame(2, key=True))
    assert decode_all(order) == [2]


def test_abandoned_frames_are_counted_and_the_list_is_bounded():
    order = DecodeOrder()
    for sequence in range(1, MAX_WAITING + 2):
        order.insert(frame(sequence, sequence - 1))
    assert order.overflowing
    key = frame(MAX_WAITING + 10, key=True)
    order.insert(key)
    assert order.next_frame(before) is key
    assert order.taken(key) == MAX_WAITING + 1
    assert len(order) == 0


def test_few_frames_that_are_too_large_to_wait_overflow_as_well():
    order = DecodeOrder()
    large = bytes(MAX_WAITING_BYTES // 2)
    for sequence in (2, 3):
        order.insert(replace(frame(sequence, 1), data=large))
    assert not order.overflowing
    order.insert(replace(frame(4, 1), data=b"x"))
    assert order.overflowing
    order.clear_waiting()
    assert not order.overflowing


def test_ready_is_what_waits_for_the_decoder_alone():
    order = DecodeOrder()
    first = frame(0, key=True)
    order.insert(first)
    order.taken(first)
    for later in (
        frame(1, 0),
        frame(2, 1),
        frame(4, 3),
        frame(5, 4),
        frame(6, 2),
        frame(7, key=True),
    ):
        order.insert(later)
    assert [f.frame_id for f in order.ready(before, given=first)] == [1, 2, 6, 7]
    assert [f.frame_id for f in order.ready(before)] == [7]
    order.decoded(first)
    assert [f.frame_id for f in order.ready(before)] == [1, 2, 6, 7]
    assert [f.frame_id for f in order.decodable(before)] == [1, 7]


def test_ready_without_descriptors_ends_at_a_gap():
    order = DecodeOrder()
    first = frame(0, key=True, described=False)
    order.insert(first)
    order.taken(first)
    for sequence in (1, 2, 4):
        order.insert(frame(sequence, described=False))
    assert [f.frame_id for f in order.ready(before, given=first)] == [1, 2]


@pytest.mark.parametrize("described", [True, False])
def test_after_frames_were_dropped_only_a_new_beginning_is_decoded(described):
    order = DecodeOrder()
    for number in range(4):
        needs = (number - 1,) if number else ()
        order.insert(frame(number, *needs, key=number == 0, described=described))
    first = order.next_frame(before)
    assert first is not None
    order.taken(first)
    order.decoded(first)
    order.drop(order.ready(before))
    assert len(order) == 0
    assert not order.insert(frame(2, 1, described=described))
    order.insert(frame(4, 3, described=described))
    assert order.next_frame(before) is None
    order.insert(frame(5, 0) if described else frame(5, key=True, described=False))
    order.insert(frame(6, 5, described=described))
    assert decode_all(order) == [5, 6]
