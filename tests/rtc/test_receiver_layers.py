"""What a receiver of two temporal layers asks for again: the base layer, the upper one only on short paths."""

from __future__ import annotations

import random

import pytest

from codecpilot.rtc.resilience.nack import MAX_DISCARDABLE_RTT_US, REORDER_US
from codecpilot.rtc.rtp.rtcp import Nack, PictureLossIndication, ReferencePictureSelection

from tests.rtc.handmade import Stream, Viewer, again, number_of

SHORT_US, LONG_US = MAX_DISCARDABLE_RTT_US, 100_000


def layered(stream: Stream, frame_id: int, *, packets: int = 2) -> list[bytes]:
    """Odd frames are upper ones; even ones need the even one before."""
    if frame_id == 0:
        return stream.frame(0, packets=packets)
    upper = frame_id % 2
    return stream.frame(
        frame_id, needs=frame_id - (1 if upper else 2), temporal_id=upper, packets=packets
    )


def started(*, rtt_us: int) -> tuple[Stream, Viewer]:
    """A call that showed frames 0 to 4; the next one is an upper one."""
    stream, viewer = Stream(), Viewer(flexfec=False, rtt_us=rtt_us)
    for frame_id in range(5):
        viewer.take(*layered(stream, frame_id))
        viewer.wait()
    return stream, viewer


def asked_for(viewer: Viewer) -> set[int]:
    return {number for _, nack in viewer.answered(Nack) for number in nack.lost}


@pytest.mark.parametrize("rtt_us", [SHORT_US, LONG_US])
def test_a_lost_upper_frame_costs_nothing_but_itself(rtt_us):
    stream, viewer = started(rtt_us=rtt_us)
    layered(stream, 5)
    for frame_id in (6, 7, 8):
        viewer.take(*layered(stream, frame_id))
        viewer.wait()
    viewer.wait(2_000_000)
    assert viewer.decoded == [0, 1, 2, 3, 4, 6, 7, 8]
    assert viewer.answers == [
        a for a in viewer.answers if not isinstance(a[1], Nack | PictureLossIndication)
    ]
    assert viewer.answered(ReferencePictureSelection) == []


@pytest.mark.parametrize(("rtt_us", "asks"), [(SHORT_US, True), (LONG_US, False)])
def test_part_of_an_upper_frame_is_asked_for_on_short_paths(rtt_us, asks):
    stream, viewer = started(rtt_us=rtt_us)
    packets = layered(stream, 5, packets=3)
    viewer.take(packets[0], packets[2])
    viewer.wait(20_000)
    assert asked_for(viewer) == ({number_of(packets[1])} if asks else set())
    viewer.take(again(packets[1]))
    assert viewer.decoded[-1] == 5


@pytest.mark.parametrize("rtt_us", [SHORT_US, LONG_US])
def test_an_upper_frame_is_not_asked_for_once_the_next_base_frame_came(rtt_us):
    stream, viewer = started(rtt_us=rtt_us)
    viewer.take(layered(stream, 5)[0])
    viewer.take(*layered(stream, 6))
    viewer.wait(1_000_000)
    assert asked_for(viewer) == set()
    assert viewer.decoded[-1] == 6


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_base_packet_is_asked_for_however_long_the_path(lost):
    stream, viewer = started(rtt_us=LONG_US)
    viewer.take(*layered(stream, 5))
    packets = layered(stream, 6, packets=3)
    missing = packets.pop(lost)
    viewer.take(*packets, *layered(stream, 7))
    viewer.wait(REORDER_US)
    assert asked_for(viewer) == {number_of(missing)}
    viewer.take(again(missing))
    assert viewer.decoded == list(range(8))


def test_a_burst_over_both_layers_is_asked_for_as_a_whole():
    stream, viewer = started(rtt_us=LONG_US)
    lost = layered(stream, 5) + layered(stream, 6)
    viewer.take(*layered(stream, 7))
    viewer.wait(REORDER_US)
    assert asked_for(viewer) == {number_of(packet) for packet in lost}
    viewer.take(*(again(packet) for packet in lost))
    assert viewer.decoded == list(range(8))


def test_a_frame_past_lost_ones_leaves_nothing_to_ask_for_even_when_it_is_not_whole():
    stream, viewer = started(rtt_us=LONG_US)
    for frame_id in range(5, 12):
        layered(stream, frame_id)
    packets = stream.frame(12, needs=4, recovery=True, packets=3)
    viewer.take(packets[0], packets[2])
    viewer.wait(REORDER_US)
    assert asked_for(viewer) == {number_of(packets[1])}
    viewer.take(again(packets[1]))
    assert viewer.decoded[-1] == 12


@pytest.mark.parametrize("rtt_us", [SHORT_US, LONG_US])
@pytest.mark.parametrize("seed", range(20))
def test_with_every_answer_given_all_base_frames_are_shown(seed, rtt_us):
    rng = random.Random(seed)
    stream, viewer = started(rtt_us=rtt_us)
    sent: dict[int, bytes] = {}
    answered = 0
    for frame_id in range(5, 25):
        for packet in layered(stream, frame_id):
            sent[number_of(packet)] = packet
            if rng.random() < 0.7 or frame_id >= 23:
                viewer.take(packet)
        viewer.wait()
        for _, nack in viewer.answered(Nack)[answered:]:
            viewer.take(*(again(sent[number]) for number in nack.lost if number in sent))
            answered += 1
    viewer.wait(REORDER_US)
    for _, nack in viewer.answered(Nack)[answered:]:
        viewer.take(*(again(sent[number]) for number in nack.lost))
    assert set(range(0, 25, 2)) <= set(viewer.decoded)
    assert viewer.counters.pliCount == 0
