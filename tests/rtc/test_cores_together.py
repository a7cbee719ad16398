"""A sender and a receiver core joined by a link, in virtual time: what a viewer gets under loss and disorder."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.codecs.types import Codec
from codecpilot.rtc.rtp.packet import parse_rtp

from tests.rtc.fakes import AV1, FRAME_US, H264, IDENTITY, WALL_OFFSET_US, Pair


def media_sequence(data: bytes) -> int | None:
    packet = parse_rtp(data) if not 200 <= data[1] <= 207 else None
    return packet.sequence_number if packet and packet.ssrc == IDENTITY.ssrc else None


def losing(pair: Pair, *, first_us: int, last_us: int) -> None:
    """Lose every media packet sent between two virtual times, retransmissions excepted."""
    pair.media.drop = lambda data: (
        first_us <= pair.now_us <= last_us and media_sequence(data) is not None
    )


@pytest.mark.parametrize("descriptor", [True, False])
@pytest.mark.parametrize("codecs", [(AV1, H264), (H264,)])
def test_a_clean_link_shows_every_picture_with_one_key_frame(descriptor, codecs):
    pair = Pair(codecs=codecs, descriptor=descriptor)
    pair.run(4)
    assert 119 <= len(pair.shown) <= 120
    assert [f.key for f in pair.shown] == [True] + [False] * (len(pair.shown) - 1)
    assert pair.receiver.counters.freezeCount == 0
    assert pair.receiver.counters.nackCount == pair.receiver.counters.pliCount == 0


def test_sequence_numbers_and_timestamps_wrap_without_a_trace():
    # The identity begins 36 numbers and 0.7 s before both wrap.
    pair = Pair()
    pair.run(3)
    sequences = [f.first_sequence for f in pair.received]
    assert sequences == sorted(sequences)
    assert sequences[-1] > 65_536
    gaps = {b.rtp_timestamp - a.rtp_timestamp for a, b in itertools.pairwise(pair.received)}
    assert gaps <= {2999, 3000, 5999, 6000}


def test_capture_times_travel_with_the_frames():
    pair = Pair()
    pair.run(1)
    latencies = [f.decoded_us + WALL_OFFSET_US - f.capture_wall_us for f in pair.shown]
    # Encoding 5 ms, link 20 ms, decoding 2 ms; the key frame and what waits behind it are paced.
    assert all(26_990 <= latency <= 27_010 for latency in latencies[5:])
    assert 60_000 <= latencies[0] <= 120_000


def test_a_lost_packet_is_asked_for_and_comes_back_within_two_round_trips():
    pair = Pair()
    pair.run(1)
    losing(pair, first_us=pair.now_us, last_us=pair.now_us + FRAME_US - 1)
    lost_at = pair.now_us
    pair.run(1)
    after = next(f for f in pair.shown if f.decoded_us > lost_at + FRAME_US)
    assert pair.sender.counters.retransmittedPacketsSent >= 1
    assert pair.receiver.counters.pliCount == 0
    # The gap shows a frame later; then 5 ms of reordering grace, and 40 ms there and back.
    assert after.decoded_us - lost_at <= FRAME_US + 2 * 40_000 + 30_000
    assert len(pair.shown) >= 58


def test_one_request_per_round_trip_and_none_for_what_came():
    pair = Pair()
    pair.run(1)
    # Nothing sent in 200 ms arrives, retransmissions included.
    start = pair.now_us
    pair.media.drop = lambda data: start <= pair.now_us <= start + 200_000
    pair.run(2)
    resent = pair.sender.counters.retransmittedPacketsSent
    assert 6 <= resent <= 60
    assert pair.receiver.counters.framesDecoded >= 80


def test_an_outage_ends_with_one_key_frame_request():
    pair = Pair()
    pair.run(1)
    start = pair.now_us
    pair.media.drop = lambda data: start <= pair.now_us <= start + 3_000_000
    pair.run(3.2)
    shown_before = len(pair.shown)
    pair.run(2)
    assert len(pair.shown) - shown_before >= 50
    assert pair.receiver.counters.freezeCount == 1
    assert 3_000_000 <= pair.receiver.counters.totalFreezesDurationUs <= 4_000_000


def test_a_lost_first_key_frame_is_repaired():
    pair = Pair()
    losing(pair, first_us=0, last_us=pair.now_us + FRAME_US - 1)
    pair.run(2)
    assert len(pair.shown) >= 40


def test_the_structure_of_the_descriptor_may_come_last():
    pair = Pair()
    late = []

    def overtaken(data: bytes) -> bool:
        if media_sequence(data) != IDENTITY.first_sequence or late:
            return False
        late.append(data)
        pair.at(pair.now_us + 120_000, lambda: pair.receiver.handle_rtp(data, now_us=pair.now_us))
        return True

    pair.media.drop = overtaken
    pair.run(1)
    assert late
    assert pair.decoder.decoded == list(range(len(pair.shown)))
    assert len(pair.shown) >= 28
    assert pair.receiver.counters.pliCount == 0


def test_a_decoder_that_refuses_a_frame_gets_a_key_frame_next():
    pair = Pair()
    pair.run(1)
    bad = pair.received[-1].frame_id + 3
    pair.refuse = lambda frame: frame.frame_id == bad
    pair.run(1)
    index = next(i for i, f in enumerate(pair.received) if f.frame_id == bad)
    assert pair.received[index + 1].key
    assert pair.receiver.counters.undecodableFrames == 1


@pytest.mark.parametrize("descriptor", [True, False])
def test_a_codec_switch_goes_on_without_a_lost_picture(descriptor):
    pair = Pair(descriptor=descriptor)
    for codec in (Codec.AV1, Codec.H264, Codec.AV1):
        pair.sender.set_codec(codec)
        pair.run(1)
    codecs = [f.codec for f in pair.shown]
    assert 89 <= len(codecs) <= 93
    assert [c for i, c in enumerate(codecs) if i == 0 or c is not codecs[i - 1]] == [
        Codec.AV1,
        Codec.H264,
        Codec.AV1,
    ]
    keys = [i for i, f in enumerate(pair.shown) if f.key]
    assert len(keys) == 3
    assert pair.receiver.counters.freezeCount == 0


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    loss=st.floats(0, 0.3),
    duplication=st.floats(0, 0.2),
    jitter_us=st.integers(0, 60_000),
    descriptor=st.booleans(),
)
def test_whatever_the_link_does_only_decodable_frames_reach_the_decoder(
    seed, loss, duplication, jitter_us, descriptor
):
    pair = Pair(seed=seed, descriptor=descriptor)
    for link in (pair.media, pair.feedback):
        link.loss, link.duplication, link.jitter_us = loss, duplication, jitter_us
    pair.run(2)  # FakeDecoder asserts
    for link in (pair.media, pair.feedback):
        link.loss = link.duplication = link.jitter_us = 0
    pair.run(3)
    shown_late = [f for f in pair.shown if f.decoded_us > pair.now_us - 500_000]
    assert len(shown_late) >= 13, "the call did not recover on a clean link"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=40), st.integers(0, 255))
def test_hostile_datagrams_never_raise_and_never_stop_the_call(datagrams, cut):
    pair = Pair()
    pair.run(0.3)
    genuine = pair.received[-1]
    for data in datagrams:
        header = bytes((0x90, 45)) + data
        for attack in (data, header, header + genuine.data[:cut]):
            pair.receiver.handle_rtp(attack, now_us=pair.now_us)
    pair.run(2)
    shown_late = [f for f in pair.shown if f.decoded_us > pair.now_us - 500_000]
    assert len(shown_late) >= 13
