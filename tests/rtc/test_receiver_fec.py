"""A receiver that gets FEC: what it recovers, what it still asks for, and what lies do to it."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.rtc.resilience.fec_recovery import MAX_FEC, MAX_MEDIA, MAX_WAIT_US
from codecpilot.rtc.resilience.nack import REORDER_US
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch
from codecpilot.rtc.rtp.rtcp import Nack, PictureLossIndication, ReceiverReport

from tests.rtc.fakes import FRAME_US
from tests.rtc.handmade import RED_RTX, Stream, Viewer, again, in_red, number_of


def started(**settings: object) -> tuple[Stream, Viewer]:
    """A call whose key frame was shown."""
    stream, viewer = Stream(), Viewer(**settings)
    viewer.take(*stream.frame(0, packets=2))
    viewer.wait()
    return stream, viewer


@pytest.mark.parametrize("lost", range(4))
def test_a_lost_packet_is_recovered_and_not_asked_for(lost):
    stream, viewer = started()
    packets = stream.frame(1, needs=0, packets=4)
    fec = stream.flexfec(packets)
    del packets[lost]
    viewer.take(*packets, fec)
    assert viewer.decoded == [0, 1]
    viewer.wait(1_000_000)
    assert viewer.answered(Nack) == []
    counters = viewer.counters
    assert (counters.fecPacketsReceived, counters.fecPacketsRecovered) == (1, 1)
    assert counters.fecPacketsDiscarded == counters.malformedRtp == 0


def test_what_fec_gave_back_counts_as_lost_in_reports():
    stream, viewer = started()
    packets = stream.frame(1, needs=0, packets=4)
    viewer.take(*packets[:1], *packets[2:], stream.flexfec(packets))
    viewer.wait(2_000_000)
    assert viewer.counters.packetsReceived == 5
    assert viewer.counters.packetsLost == 1
    reports = [m.reports[0].packets_lost for _, m in viewer.answered(ReceiverReport)]
    assert reports[-1] == 1


def test_a_recovered_frame_keeps_its_mark():
    stream, viewer = started()
    packets = stream.frame(1, needs=0, packets=3, ltr=True)
    viewer.take(*packets[1:], stream.flexfec(packets))
    assert viewer.core.ltr_ack == 1


def test_groups_over_several_frames_recover_a_burst():
    stream, viewer = started()
    frames = [stream.frame(i, needs=i - 1, packets=3) for i in range(1, 4)]
    sent = [packet for frame in frames for packet in frame]
    fec = [stream.flexfec(sent[i::3]) for i in range(3)]
    viewer.take(*sent[:3], *sent[6:], *fec)
    assert viewer.decoded == [0, 1, 2, 3]
    assert viewer.counters.fecPacketsRecovered == 3


def test_two_lost_of_one_group_are_asked_for_and_one_of_them_recovers_the_other():
    stream, viewer = started()
    packets = stream.frame(1, needs=0, packets=4)
    viewer.take(packets[0], packets[3], stream.flexfec(packets))
    viewer.wait(REORDER_US)
    ((_, nack),) = viewer.answered(Nack)
    assert nack.lost == (number_of(packets[1]), number_of(packets[2]))
    viewer.take(packets[1])
    assert viewer.decoded == [0, 1]


def test_once_fec_comes_what_is_lost_is_asked_for_only_when_fec_could_have_come():
    stream, viewer = started()
    for frame_id in (1, 2):
        packets = stream.frame(frame_id, needs=frame_id - 1, packets=2)
        viewer.take(packets[0])
        viewer.wait(20_000)
        viewer.take(packets[1], stream.flexfec(packets))
        viewer.wait(10_000)
    packets = stream.frame(3, needs=2, packets=4)
    viewer.take(packets[0], packets[2])
    lost_us = viewer.now_us
    viewer.wait(20_000)
    assert viewer.answered(Nack) == []
    # The FEC packet was lost too.
    viewer.take(packets[3])
    viewer.wait(20_000)
    ((asked_us, _),) = viewer.answered(Nack)
    assert asked_us == lost_us + 20_000 + REORDER_US


def test_what_fec_cannot_give_back_is_asked_for_when_it_came():
    stream, viewer = started()
    for frame_id in (1, 2):
        packets = stream.frame(frame_id, needs=frame_id - 1, packets=2)
        viewer.take(packets[0])
        viewer.wait(30_000)
        viewer.take(packets[1], stream.flexfec(packets))
    packets = stream.frame(3, needs=2, packets=5)
    viewer.take(packets[0], packets[3])
    viewer.wait(20_000)
    assert viewer.answered(Nack) == []
    viewer.take(packets[4], stream.flexfec(packets))
    ((asked_us, _),) = viewer.answered(Nack)
    assert asked_us == viewer.now_us


def test_fec_in_red_shares_the_numbers_of_the_media():
    stream, viewer = started(flexfec=False, red=True)
    for frame_id in range(1, 6):
        packets = stream.frame(frame_id, needs=frame_id - 1, packets=4)
        fec = stream.ulpfec(packets)
        lost = frame_id % 4
        viewer.take(*(in_red(p) for i, p in enumerate(packets) if i != lost), fec)
        viewer.wait()
    assert viewer.decoded == list(range(6))
    assert viewer.answered(Nack) == []
    assert viewer.counters.fecPacketsRecovered == 5
    # FEC counts as a packet of the stream; only what was recovered is lost to the report.
    assert viewer.counters.packetsReceived == 2 + 5 * 4
    assert viewer.counters.packetsLost == 5


def test_a_lost_fec_packet_in_red_holds_up_nothing():
    stream, viewer = started(flexfec=False, red=True)
    for frame_id in range(1, 4):
        packets = stream.frame(frame_id, needs=frame_id - 1, packets=2)
        stream.ulpfec(packets)
        viewer.take(*(in_red(p) for p in packets))
        viewer.wait()
    viewer.wait(1_000_000)
    assert viewer.decoded == [0, 1, 2, 3]
    assert viewer.answered(Nack) == viewer.answered(PictureLossIndication) == []


def test_a_red_packet_may_come_by_retransmission():
    stream, viewer = started(flexfec=False, red=True)
    packets = [in_red(p) for p in stream.frame(1, needs=0, packets=3)]
    viewer.take(packets[0], packets[2])
    viewer.wait(REORDER_US)
    viewer.take(again(packets[1], payload_type=RED_RTX))
    assert viewer.decoded == [0, 1]
    assert viewer.counters.retransmittedPacketsReceived == 1


def test_switched_off_fec_is_counted_and_left_alone():
    off = ResilienceSettings(fec=Switch.OFF)
    stream, viewer = started(resilience=off)
    packets = stream.frame(1, needs=0, packets=3)
    viewer.take(packets[0], packets[2], stream.flexfec(packets))
    assert viewer.decoded == [0]
    viewer.wait(REORDER_US)
    assert len(viewer.answered(Nack)) == 1
    assert viewer.counters.fecPacketsDiscarded == viewer.counters.fecPacketsReceived == 1


def test_without_agreement_fec_is_an_unknown_stream():
    stream, viewer = started(flexfec=False)
    packets = stream.frame(1, needs=0, packets=3)
    viewer.take(packets[0], packets[2], stream.flexfec(packets))
    assert viewer.decoded == [0]
    assert viewer.counters.packetsDiscarded == 1
    assert viewer.counters.fecPacketsReceived == 0


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_is_lost_and_however_it_is_ordered_recovered_frames_are_right(data):
    # FakeDecoder asserts that nothing is decoded without what it needs; contents are checked here.
    stream, viewer = started()
    frames = [stream.frame(i, needs=i - 1, packets=3) for i in range(1, 5)]
    sent = [packet for frame in frames for packet in frame]
    fec = [stream.flexfec(sent[i::3]) for i in range(3)] + [stream.flexfec(sent[:6])]
    lost = data.draw(st.sets(st.integers(0, len(sent) - 1), max_size=4))
    arriving = [p for i, p in enumerate(sent) if i not in lost] + fec
    viewer.take(*data.draw(st.permutations(arriving)))
    assert viewer.decoded == list(range(len(viewer.decoded)))
    by_group = [[i for i in lost if i % 3 == group] for group in range(3)]
    if all(len(group) <= 1 for group in by_group):
        assert viewer.decoded[-1] == 4
    for packet in sent:
        viewer.take(again(packet))
    assert viewer.decoded[-1] == 4


def lies(stream: Stream, packets: list[bytes], rng: random.Random) -> list[bytes]:
    """FEC packets for these packets that are not what they say."""
    fec = stream.flexfec(packets)
    return [
        stream.flexfec_packet(rng.randbytes(rng.randrange(60))),
        stream.flexfec(packets, parity=rng.randbytes(rng.choice([8, 9, 100, 1200]))),
        fec[: rng.randrange(12, len(fec))],
    ]


@pytest.mark.parametrize("seed", range(3))
def test_fec_that_lies_about_what_arrived_changes_nothing(seed):
    rng = random.Random(seed)
    stream, viewer = started()
    for frame_id in range(1, 120):
        packets = stream.frame(frame_id, needs=frame_id - 1, packets=3)
        viewer.take(*packets, *lies(stream, packets, rng))
        viewer.wait()
    assert viewer.decoded == list(range(120))
    assert viewer.counters.malformedRtp > 0
    assert viewer.counters.undecodableFrames == 0


@pytest.mark.parametrize("seed", range(3))
def test_fec_that_lies_about_what_is_missing_costs_no_more_than_a_key_frame(seed):
    rng = random.Random(seed)
    stream, viewer = started()
    for frame_id in range(1, 120):
        key = viewer.counters.pliCount and frame_id % 20 == 0
        packets = stream.frame(frame_id, needs=None if key else frame_id - 1, packets=3)
        fec = stream.flexfec(packets)
        # Also about packets that are still to be sent: base and mask may be other ones.
        other = bytes(b ^ (rng.random() < 0.02) * rng.randrange(256) for b in fec)
        viewer.take(packets[0], other, *lies(stream, packets, rng), *packets[1:])
        viewer.wait()
    packets = stream.frame(120, packets=3)
    viewer.take(*packets)
    assert viewer.decoded[-1] == 120
    assert viewer.counters.fecPacketsRecovered > 0
    assert 1 <= viewer.counters.pliCount <= 120 * FRAME_US // 200_000


def test_a_flood_of_fec_costs_bounded_work_memory_and_answers():
    stream, viewer = started()
    rng = random.Random(1)
    packets = stream.frame(1, needs=0, packets=10)
    viewer.take(*packets[:4])
    fec = [stream.flexfec(sorted(rng.sample(packets, k=8), key=packets.index)) for _ in range(3000)]
    started_s = time.process_time()
    viewer.take(*fec)
    assert time.process_time() - started_s < 3
    assert len(viewer.core._incoming._fec._recovery) <= MAX_MEDIA + MAX_FEC
    assert len(viewer.answers) < 10
    assert viewer.core._incoming.wait_us(viewer.now_us) <= MAX_WAIT_US
    viewer.take(*packets[4:])
    viewer.wait(10 * FRAME_US)
    assert viewer.decoded == [0, 1]
