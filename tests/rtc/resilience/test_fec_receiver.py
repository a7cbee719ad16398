from __future__ import annotations

import pytest

from codecpilot.codecs.errors import RemoteError
from codecpilot.rtc.resilience.fec_receiver import FecReceiver
from codecpilot.rtc.resilience.fec_recovery import NOTHING
from codecpilot.rtc.rtp.packet import RtpPacket, parse_rtp
from codecpilot.rtc.rtp.red import wrap_red
from codecpilot.rtc.stats import InboundCounters

from tests.rtc.handmade import (
    AV1,
    EXTENSIONS,
    FEC_SSRC,
    FLEXFEC_STREAM,
    RED,
    RED_TYPES,
    SSRC,
    Stream,
    in_red,
)


def receiver(
    *, flexfec: bool = True, red: bool = True, enabled: bool = True
) -> tuple[FecReceiver, InboundCounters]:
    counters = InboundCounters()
    fec = FecReceiver(
        flexfec=FLEXFEC_STREAM if flexfec else None,
        red=RED_TYPES if red else None,
        enabled=enabled,
        stamp_ids=EXTENSIONS.stamp_ids,
        counters=counters,
    )
    return fec, counters


def test_red_comes_off_without_a_trace():
    fec, _ = receiver()
    for data in Stream().frame(0, packets=3):
        wrapped = in_red(data)
        packet, unwrapped = fec.unwrap(parse_rtp(wrapped), wrapped)
        assert unwrapped == data
        assert packet == parse_rtp(data)


def test_red_comes_off_padding_and_redundant_blocks():
    fec, _ = receiver()
    plain = RtpPacket(AV1, True, 5, 6, SSRC, b"primary", padding_bytes=3)
    red = RtpPacket(
        RED,
        True,
        5,
        6,
        SSRC,
        b"\xad\x00\x00\x04" + bytes((AV1,)) + b"olde" + b"primary",
        padding_bytes=3,
    )
    packet, data = fec.unwrap(red, red.serialize())
    assert packet == plain
    assert data == plain.serialize()


def test_what_is_not_red_stays_as_it_is():
    (data,) = Stream().frame(0)
    padding = RtpPacket(RED, False, 5, 6, SSRC, b"", padding_bytes=9)
    for fec, _ in (receiver(), receiver(red=False)):
        assert fec.unwrap(parse_rtp(data), data) == (parse_rtp(data), data)
        assert fec.unwrap(padding, padding.serialize())[0] == padding
    fec, _ = receiver(red=False)
    red = wrap_red(parse_rtp(data), payload_type=RED)
    assert fec.unwrap(red, red.serialize())[0] == red


def test_a_red_packet_that_lies_is_refused():
    fec, _ = receiver()
    lie = RtpPacket(RED, False, 5, 6, SSRC, b"\xad\x00\x03\xff\x2d")
    with pytest.raises(RemoteError):
        fec.unwrap(lie, lie.serialize())


def test_flexfec_is_told_by_payload_type_and_ssrc():
    stream = Stream()
    packet = parse_rtp(stream.flexfec(stream.frame(0, packets=2)))
    assert receiver()[0].is_flexfec(packet)
    assert not receiver(flexfec=False)[0].is_flexfec(packet)
    stranger = RtpPacket(packet.payload_type, False, 1, 1, FEC_SSRC + 1, packet.payload)
    assert not receiver()[0].is_flexfec(stranger)


def test_fec_over_another_stream_is_discarded():
    fec, counters = receiver()
    stream = Stream()
    packet = parse_rtp(stream.flexfec(stream.frame(0, packets=2)))
    assert fec.flexfec(packet, media_ssrc=SSRC + 1, now_us=0) == NOTHING
    assert fec.flexfec(packet, media_ssrc=None, now_us=0) == NOTHING
    assert (counters.fecPacketsReceived, counters.fecPacketsDiscarded) == (2, 2)
    assert counters.fecBytesReceived == 2 * len(packet.payload)


@pytest.mark.parametrize("off", [{"enabled": False}, {"flexfec": False, "red": False}])
def test_where_it_is_off_or_was_not_agreed_on_nothing_is_stored(off):
    fec, _ = receiver(**off)
    stream = Stream()
    packets = stream.frame(0, packets=2)
    assert fec.original(parse_rtp(packets[0]), packets[0], now_us=0) == NOTHING
    found = fec.flexfec(parse_rtp(stream.flexfec(packets)), media_ssrc=SSRC, now_us=0)
    assert found == NOTHING
    assert fec._recovery is None
    assert fec.wait_us(0) == 0
