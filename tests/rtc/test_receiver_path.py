"""A receiver tells its path of every packet that carries a transport-wide number, once."""

from __future__ import annotations

import random

from codecpilot.codecs.types import Codec
from codecpilot.rtc.drain import drain_receiver
from codecpilot.rtc.messages import NegotiatedCodec
from codecpilot.rtc.receive_path import ReceivePath
from codecpilot.rtc.receiver import ReceiverCore, ReceiverSettings
from codecpilot.rtc.rtp.extensions import (
    ABS_SEND_TIME,
    TRANSPORT_CC,
    ExtensionMap,
    HeaderExtensions,
    abs_send_time,
)
from codecpilot.rtc.rtp.packet import RtpPacket
from codecpilot.rtc.rtp.rtcp import TransportFeedback, parse_rtcp

H264, RTX, UNKNOWN = 99, 100, 120
SSRC, RTX_SSRC = 7, 8
EXTENSIONS = ExtensionMap({TRANSPORT_CC: 5, ABS_SEND_TIME: 3})
SLICE = b"\x41slice"


def receiver(path: ReceivePath | None, *, ssrc: int = SSRC) -> ReceiverCore:
    codecs = (NegotiatedCodec(codec=Codec.H264, payload_type=H264, rtx_payload_type=RTX),)
    settings = ReceiverSettings(ssrc=1, codecs=codecs, extensions=EXTENSIONS, remote_ssrc=ssrc)
    return ReceiverCore(settings=settings, rng=random.Random(1), now_us=0, path=path)


def packet(
    number: int,
    *,
    now_us: int = 0,
    payload_type: int = H264,
    ssrc: int = SSRC,
    payload: bytes = SLICE,
    padding_bytes: int = 0,
    sequence: int | None = None,
) -> bytes:
    values = HeaderExtensions(transport_sequence_number=number, abs_send_time=abs_send_time(now_us))
    return RtpPacket(
        payload_type,
        True,
        number if sequence is None else sequence,
        90 * number,
        ssrc,
        payload,
        extensions=EXTENSIONS.pack(values),
        padding_bytes=padding_bytes,
    ).serialize()


def feedback_of(datagrams: list[bytes]) -> list[TransportFeedback]:
    messages = [m for data in datagrams for m in parse_rtcp(data)]
    return [m for m in messages if isinstance(m, TransportFeedback)]


def test_media_retransmissions_padding_and_what_the_core_discards_are_told_once():
    core = receiver(ReceivePath(ssrc=1))
    for data in (
        packet(0),
        packet(1),
        packet(1),
        packet(2, payload_type=RTX, ssrc=RTX_SSRC, payload=b"\x00\x01" + SLICE, sequence=900),
        packet(3, payload_type=RTX, ssrc=RTX_SSRC, payload=b"", padding_bytes=200, sequence=901),
        packet(4, payload=b"", padding_bytes=100),
        packet(5, payload_type=UNKNOWN, ssrc=33),
    ):
        core.handle_rtp(data, now_us=1_000)
    (told,) = feedback_of(core.poll_rtcp(now_us=1_000))
    assert told.base_sequence == 0
    assert told.statuses == (4, 0, 0, 0, 0, 0)
    assert (told.sender_ssrc, told.media_ssrc) == (1, 33)


def test_feedback_is_a_datagram_of_its_own_beside_other_rtcp():
    core = receiver(ReceivePath(ssrc=1))
    for number in (0, 1, 3):
        core.handle_rtp(packet(number), now_us=0)
    datagrams = drain_receiver(core, now_us=2_000_000).rtcp
    kinds = [[type(m).__name__ for m in parse_rtcp(data)] for data in datagrams]
    assert kinds == [
        ["ReceiverReport", "Nack", "PictureLossIndication"],
        ["TransportFeedback"],
    ]


def test_the_path_s_timer_is_the_core_s():
    core = receiver(ReceivePath(ssrc=1))
    assert drain_receiver(core, now_us=0).wake_us is None
    core.handle_rtp(packet(0), now_us=0)
    drain_receiver(core, now_us=0)
    core.handle_rtp(packet(1, now_us=5_000), now_us=5_000)
    output = drain_receiver(core, now_us=5_000)
    assert output.rtcp == []
    assert output.wake_us == 100_000
    assert len(feedback_of(drain_receiver(core, now_us=100_000).rtcp)) == 1


def test_two_streams_share_one_path():
    path = ReceivePath(ssrc=1)
    first, second = receiver(path), receiver(path, ssrc=17)
    first.handle_rtp(packet(0), now_us=0)
    second.handle_rtp(packet(1, ssrc=17), now_us=250)
    first.handle_rtp(packet(2), now_us=500)
    (told,) = feedback_of(second.poll_rtcp(now_us=500))
    assert told.statuses == (0, 1, 1)
    assert first.poll_rtcp(now_us=500) == []


def test_without_a_path_or_a_number_nothing_is_told():
    for core, data in (
        (receiver(None), packet(0)),
        (receiver(ReceivePath(ssrc=1)), RtpPacket(H264, True, 0, 0, SSRC, SLICE).serialize()),
    ):
        core.handle_rtp(data, now_us=0)
        assert core.poll_rtcp(now_us=0) == []
        assert core.counters.packetsReceived == 1


def test_a_number_of_the_wrong_length_is_malformed():
    core = receiver(ReceivePath(ssrc=1))
    bad = RtpPacket(H264, True, 0, 0, SSRC, SLICE, extensions=((5, b"\x00\x01\x02"),))
    core.handle_rtp(bad.serialize(), now_us=0)
    assert core.counters.malformedRtp == 1
    assert core.poll_timeout() is None
