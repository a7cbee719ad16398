"""An independent reader: aiortc's own RTP and RTCP classes understand what we write."""

from __future__ import annotations

from aiortc import rtp as aiortc_rtp

from codecpilot.rtc.rtp.extensions import (
    ABS_SEND_TIME,
    MID,
    TRANSPORT_CC,
    ExtensionMap,
    HeaderExtensions,
)
from codecpilot.rtc.rtp.packet import RtpPacket, parse_rtp, unwrap_rtx, wrap_rtx
from codecpilot.rtc.rtp.rtcp import (
    Bye,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReceiverReport,
    ReportBlock,
    SenderReport,
    SourceDescription,
    parse_rtcp,
    serialize_rtcp,
)

BLOCK = ReportBlock(
    ssrc=7,
    fraction_lost=3,
    packets_lost=-5,
    highest_sequence=0x10005,
    jitter=11,
    last_sr=12,
    delay_since_last_sr=13,
)
COMPOUND = [
    SenderReport(
        ssrc=1,
        ntp_timestamp=2**40,
        rtp_timestamp=90,
        packet_count=4,
        octet_count=500,
        reports=(BLOCK,),
    ),
    ReceiverReport(ssrc=1, reports=(BLOCK, BLOCK)),
    SourceDescription(ssrc=1, cname="name"),
    Nack(sender_ssrc=1, media_ssrc=2, lost=(65535, 3)),
    PictureLossIndication(sender_ssrc=1, media_ssrc=2),
    ReceiverEstimatedMaximumBitrate(sender_ssrc=1, bitrate_bps=600_000, ssrcs=(2,)),
    Bye(ssrcs=(1,)),
]


def identifiers() -> aiortc_rtp.HeaderExtensionsMap:
    numbers = aiortc_rtp.HeaderExtensionsMap()
    ids = numbers._HeaderExtensionsMap__ids  # type: ignore[attr-defined]
    ids.mid, ids.abs_send_time, ids.transport_sequence_number = 1, 2, 3
    return numbers


def test_packets_with_extensions_and_padding() -> None:
    ours = ExtensionMap({MID: 1, ABS_SEND_TIME: 2, TRANSPORT_CC: 3})
    values = HeaderExtensions(mid="video", abs_send_time=0x123456, transport_sequence_number=77)
    packet = RtpPacket(
        96, True, 65535, 9000, 5, b"payload", (8, 9), ours.pack(values), padding_bytes=4
    )
    read = aiortc_rtp.RtpPacket.parse(packet.serialize(), identifiers())
    assert (read.payload_type, read.marker, read.sequence_number) == (96, 1, 65535)
    assert (read.timestamp, read.ssrc, read.csrc) == (9000, 5, [8, 9])
    assert (read.payload, read.padding_size) == (b"payload", 4)
    assert read.extensions.mid == "video"
    assert read.extensions.abs_send_time == 0x123456
    assert read.extensions.transport_sequence_number == 77
    assert parse_rtp(read.serialize(identifiers())).payload == b"payload"


def test_retransmissions_both_ways() -> None:
    packet = RtpPacket(96, False, 10, 9000, 5, b"payload")
    ours = wrap_rtx(packet, payload_type=97, ssrc=6, sequence_number=1)
    theirs = aiortc_rtp.unwrap_rtx(
        aiortc_rtp.RtpPacket.parse(ours.serialize()), payload_type=96, ssrc=5
    )
    assert (theirs.sequence_number, theirs.payload) == (10, b"payload")
    wrapped = aiortc_rtp.wrap_rtx(theirs, payload_type=97, sequence_number=2, ssrc=6)
    assert unwrap_rtx(parse_rtp(wrapped.serialize()), payload_type=96, ssrc=5) == packet


def test_compound_reports_and_feedback() -> None:
    wire = serialize_rtcp(COMPOUND)
    sender, receiver, names, nack, loss, remb, bye = aiortc_rtp.RtcpPacket.parse(wire)
    assert isinstance(sender, aiortc_rtp.RtcpSrPacket)
    assert sender.sender_info.ntp_timestamp == 2**40
    assert (sender.reports[0].packets_lost, sender.reports[0].jitter) == (-5, 11)
    assert isinstance(receiver, aiortc_rtp.RtcpRrPacket)
    assert len(receiver.reports) == 2
    assert isinstance(names, aiortc_rtp.RtcpSdesPacket)
    assert names.chunks[0].items == [(1, b"name")]
    assert isinstance(nack, aiortc_rtp.RtcpRtpfbPacket)
    # aiortc 1.16 does not wrap what it adds to a PID.
    assert sorted(number & 0xFFFF for number in nack.lost) == [3, 65535]
    assert isinstance(loss, aiortc_rtp.RtcpPsfbPacket)
    assert (loss.fmt, loss.media_ssrc) == (aiortc_rtp.RTCP_PSFB_PLI, 2)
    assert isinstance(remb, aiortc_rtp.RtcpPsfbPacket)
    assert aiortc_rtp.unpack_remb_fci(remb.fci) == (600_000, [2])
    assert isinstance(bye, aiortc_rtp.RtcpByePacket)
    assert bye.sources == [1]


def test_what_aiortc_writes_is_read_back() -> None:
    packets = aiortc_rtp.RtcpPacket.parse(serialize_rtcp(COMPOUND))
    assert parse_rtcp(b"".join(bytes(packet) for packet in packets)) == COMPOUND
