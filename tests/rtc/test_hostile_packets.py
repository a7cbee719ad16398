"""Packets that no honest peer sends, at a receiver's core: nothing raises, and what is kept is bounded."""

from __future__ import annotations

import random

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.drain import drain_receiver
from codecpilot.rtc.messages import NegotiatedCodec
from codecpilot.rtc.playout.dependencies import MAX_WAITING
from codecpilot.rtc.playout.packet_buffer import MAX_PACKETS
from codecpilot.rtc.receiver import ReceiverCore, ReceiverSettings
from codecpilot.rtc.resilience.nack import MAX_MISSING
from codecpilot.rtc.rtp.extensions import DEPENDENCY_DESCRIPTOR, ExtensionMap
from codecpilot.rtc.rtp.packet import RtpPacket

AV1, H264 = 103, 99
SSRC = 7
DD_ID = 4
SLICE, FRAGMENT = b"\x41slice", b"\x5c\x05fragment"
PACKET_US = 300


def hostile_core() -> ReceiverCore:
    codecs = (
        NegotiatedCodec(codec=Codec.AV1, payload_type=AV1, rtx_payload_type=AV1 + 1),
        NegotiatedCodec(codec=Codec.H264, payload_type=H264, rtx_payload_type=H264 + 1),
    )
    settings = ReceiverSettings(
        ssrc=1,
        codecs=codecs,
        extensions=ExtensionMap({DEPENDENCY_DESCRIPTOR: DD_ID}),
        remote_ssrc=SSRC,
    )
    return ReceiverCore(settings=settings, rng=random.Random(1), now_us=0)


def packet(sequence: int, payload: bytes, *, timestamp: int = 0, marker: bool = False) -> bytes:
    return RtpPacket(H264, marker, sequence & 0xFFFF, timestamp, SSRC, payload).serialize()


def feed(core: ReceiverCore, datagrams: list[bytes]) -> int:
    """Hand over the datagrams, refusing every frame; how many bytes the core answered."""
    answered = 0
    for index, data in enumerate(datagrams):
        now_us = (index + 1) * PACKET_US
        core.handle_rtp(data, now_us=now_us)
        output = drain_receiver(core, now_us=now_us)
        answered += sum(map(len, output.rtcp))
        if output.frame is not None:
            core.handle_decoded(None, failed=True, decode_us=1, now_us=now_us)
    assert len(core._incoming.buffer) <= MAX_PACKETS
    assert core._decoding.waiting <= MAX_WAITING
    assert len(core._feedback.nacks.missing) <= MAX_MISSING
    return answered


@pytest.mark.parametrize("step", [30_000, -1, -3, 20_001])
def test_leaps_of_sequence_numbers_are_survived(step):
    core = hostile_core()
    answered = feed(core, [packet(i * step, FRAGMENT, timestamp=i) for i in range(4000)])
    assert core.counters.packetsReceived == 4000
    assert answered < 10_000


def test_packets_older_than_all_of_a_full_buffer_are_survived():
    newer = [packet(i, FRAGMENT, timestamp=i) for i in range(5000, 5000 + MAX_PACKETS)]
    older = [packet(i, SLICE, timestamp=i, marker=True) for i in range(4000, 4100)]
    core = hostile_core()
    feed(core, newer + older)
    assert core.counters.packetsReceived == MAX_PACKETS + 100


def test_a_sender_of_half_frames_is_asked_for_the_rest_in_bounded_feedback():
    halves = [i for i in range(8000) if i % 20 < 10]
    core = hostile_core()
    answered = feed(core, [packet(i, FRAGMENT, timestamp=i // 20) for i in halves])
    seconds = len(halves) * PACKET_US / 1e6
    assert 1000 < answered < 20_000 * seconds
    assert 1 <= core.counters.pliCount <= 1 + seconds / 0.2


def test_a_sender_of_no_key_frame_is_asked_for_one_again_and_again_but_seldom():
    core = hostile_core()
    feed(core, [packet(i, SLICE, timestamp=i, marker=True) for i in range(8000)])
    assert core.counters.framesDecoded == 0
    assert 3 <= core.counters.pliCount <= 1 + 8000 * PACKET_US / 200_000


@pytest.mark.parametrize("seed", range(3))
def test_random_packets_are_survived(seed):
    rng = random.Random(seed)
    datagrams = []
    for _ in range(4000):
        extensions = ((DD_ID, rng.randbytes(rng.randint(1, 30))),) if rng.random() < 0.5 else ()
        datagrams.append(
            RtpPacket(
                rng.choice([AV1, AV1 + 1, H264, H264 + 1]),
                rng.random() < 0.4,
                rng.choice([rng.randrange(65536), rng.randrange(64)]),
                rng.choice([rng.randrange(1 << 32), 0, 3000]),
                SSRC,
                rng.randbytes(rng.randrange(60)),
                (),
                extensions,
            ).serialize()
        )
    core = hostile_core()
    feed(core, datagrams)
    assert core.counters.malformedRtp > 0
