from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.rtcp import (
    App,
    Bye,
    FullIntraRequest,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReceiverReport,
    ReportBlock,
    RtcpMessage,
    SenderReport,
    SourceDescription,
    UnknownRtcp,
    parse_rtcp,
    salvage_rtcp,
    serialize_rtcp,
)

ssrcs = st.integers(0, 0xFFFFFFFF)
words = ssrcs
texts = st.text(max_size=40)
blocks = st.builds(
    ReportBlock,
    ssrc=ssrcs,
    fraction_lost=st.integers(0, 255),
    packets_lost=st.integers(-(1 << 23), (1 << 23) - 1),
    highest_sequence=words,
    jitter=words,
    last_sr=words,
    delay_since_last_sr=words,
)
reports = st.lists(blocks, max_size=4).map(tuple)
messages = st.one_of(
    st.builds(
        SenderReport,
        ssrc=ssrcs,
        ntp_timestamp=st.integers(0, 2**64 - 1),
        rtp_timestamp=words,
        packet_count=words,
        octet_count=words,
        reports=reports,
    ),
    st.builds(ReceiverReport, ssrc=ssrcs, reports=reports),
    st.builds(SourceDescription, ssrc=ssrcs, cname=texts),
    st.builds(Bye, ssrcs=st.lists(ssrcs, max_size=31).map(tuple), reason=texts),
    st.builds(
        App,
        ssrc=ssrcs,
        subtype=st.integers(0, 31),
        name=st.binary(min_size=4, max_size=4),
        data=st.lists(words, max_size=4).map(lambda w: b"".join(x.to_bytes(4, "big") for x in w)),
    ),
    st.builds(PictureLossIndication, sender_ssrc=ssrcs, media_ssrc=ssrcs),
    st.builds(
        FullIntraRequest,
        sender_ssrc=ssrcs,
        requests=st.lists(st.tuples(ssrcs, st.integers(0, 255)), min_size=1, max_size=3).map(tuple),
    ),
    st.builds(
        ReceiverEstimatedMaximumBitrate,
        sender_ssrc=ssrcs,
        bitrate_bps=st.integers(0, 0x3FFFF).map(lambda mantissa: mantissa << 20),
        ssrcs=st.lists(ssrcs, max_size=3).map(tuple),
    ),
    st.builds(
        UnknownRtcp,
        packet_type=st.just(207),
        count=st.integers(0, 31),
        body=st.binary(max_size=9),
    ),
)
REPORT = ReceiverReport(ssrc=1)
PLI = PictureLossIndication(sender_ssrc=1, media_ssrc=2)


@given(st.lists(messages, min_size=1, max_size=5))
def test_any_compound_survives_the_wire(compound: list[RtcpMessage]) -> None:
    wire = serialize_rtcp(compound)
    assert len(wire) % 4 == 0
    assert parse_rtcp(wire) == compound
    assert salvage_rtcp(wire) == (compound, 0)


@given(st.binary(max_size=120) | st.binary(max_size=60).map(lambda b: b"\x81\xce" + b))
def test_random_bytes_parse_or_raise_remote_error(data: bytes) -> None:
    salvaged, malformed = salvage_rtcp(data)
    try:
        assert parse_rtcp(data) == salvaged
        assert malformed == 0
    except RemoteError:
        assert malformed > 0 or not data


@given(st.lists(messages, min_size=1, max_size=3), st.data())
def test_damaged_compounds_parse_or_raise_remote_error(
    compound: list[RtcpMessage], data: st.DataObject
) -> None:
    wire = bytearray(serialize_rtcp(compound))
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(wire[: data.draw(st.integers(0, len(wire)))])
    salvaged, malformed = salvage_rtcp(damaged)
    try:
        assert parse_rtcp(damaged) == salvaged
    except RemoteError:
        assert malformed > 0 or not damaged


def test_known_bytes_of_a_sender_report() -> None:
    report = SenderReport(
        ssrc=0x01020304,
        ntp_timestamp=0xE000000080000000,
        rtp_timestamp=90000,
        packet_count=10,
        octet_count=1000,
        reports=(
            ReportBlock(
                ssrc=5,
                fraction_lost=128,
                packets_lost=-2,
                highest_sequence=0x10003,
                jitter=7,
                last_sr=8,
                delay_since_last_sr=9,
            ),
        ),
    )
    assert serialize_rtcp([report]).hex() == (
        "81c8000c" + "01020304" + "e000000080000000" + "00015f90" + "0000000a" + "000003e8"
        "00000005" + "80fffffe" + "00010003" + "00000007" + "00000008" + "00000009"
    )


def test_known_bytes_of_source_description_and_bye() -> None:
    wire = serialize_rtcp([SourceDescription(ssrc=9, cname="ab"), Bye(ssrcs=(9,), reason="end")])
    assert (
        wire.hex()
        == "81ca0003" + "00000009" + "0102616200000000" + "81cb0002" + "00000009" + "03656e64"
    )


def test_source_description_of_two_chunks_with_other_items() -> None:
    chunk = bytes.fromhex("0000000a" + "0201780102616200" + "0000000b" + "01017a00")
    body = chunk
    wire = bytes((0x82, 202, 0, len(body) // 4)) + body
    assert parse_rtcp(wire) == [
        SourceDescription(ssrc=10, cname="ab"),
        SourceDescription(ssrc=11, cname="z"),
    ]


def test_known_bytes_of_feedback() -> None:
    remb = ReceiverEstimatedMaximumBitrate(sender_ssrc=1, bitrate_bps=1_000_000, ssrcs=(2,))
    fir = FullIntraRequest(sender_ssrc=1, requests=((2, 3),))
    assert serialize_rtcp([PLI]).hex() == "81ce0002" + "00000001" + "00000002"
    assert serialize_rtcp([fir]).hex() == "84ce0004" + "00000001" + "00000000" + "0000000203000000"
    assert (
        serialize_rtcp([remb]).hex()
        == "8fce0005" + "00000001" + "00000000" + "52454d42" + "010bd090" + "00000002"
    )


@pytest.mark.parametrize("rate_bps", [0, 1, 262143, 262144, 300_001, 2**40 + 1])
def test_remb_rounds_down_by_less_than_its_mantissa_resolves(rate_bps: int) -> None:
    (read,) = parse_rtcp(
        serialize_rtcp([ReceiverEstimatedMaximumBitrate(sender_ssrc=1, bitrate_bps=rate_bps)])
    )
    assert isinstance(read, ReceiverEstimatedMaximumBitrate)
    assert rate_bps * (1 - 2**-17) <= read.bitrate_bps <= rate_bps


def test_application_feedback_other_than_remb_is_unknown() -> None:
    body = bytes(8) + b"LTRA" + bytes(4)
    message = UnknownRtcp(packet_type=206, count=15, body=body)
    assert parse_rtcp(serialize_rtcp([message])) == [message]


@pytest.mark.parametrize("padding", [b"\x01", b"\x00\x02", b"\x00\x00\x03", b"\x00\x00\x00\x04"])
def test_padding_of_any_length_is_stripped(padding: bytes) -> None:
    content = bytes(8) + bytes(-(8 + len(padding)) % 4) + b"\x55" * 4
    body = content + padding
    body = bytes(-len(body) % 4) + body
    wire = bytes((0xAE, 205, 0, len(body) // 4)) + body
    (message,) = parse_rtcp(wire)
    assert message == UnknownRtcp(packet_type=205, count=14, body=body[: -len(padding)])


def test_good_packets_around_a_bad_body_are_salvaged() -> None:
    truncated_report = bytes((0x81, 201, 0, 1)) + bytes(4)
    wire = serialize_rtcp([REPORT]) + truncated_report + serialize_rtcp([PLI])
    assert salvage_rtcp(wire) == ([REPORT, PLI], 1)
    with pytest.raises(RemoteError):
        parse_rtcp(wire)


def test_good_packets_before_a_bad_header_are_salvaged() -> None:
    wire = serialize_rtcp([REPORT]) + b"\x81\xce\x00\xff" + serialize_rtcp([PLI])
    assert salvage_rtcp(wire) == ([REPORT], 1)


@pytest.mark.parametrize(
    "wire",
    [
        "",
        "80c9",  # header truncated
        "40c9000100000001",  # version 1
        "80c90002" + "00000001",  # runs past its end
        "a0c9000100000000",  # padding of nothing
        "a0c9000100000005",  # more padding than body
        "a0c90000",  # padding bit without a body
        "80c90000",  # RR without reporter
        "80c8000500" + "00" * 19,  # SR one word short
        "81ca0001" + "00000001",  # SDES chunk without end
        "81ca0002" + "00000001" + "0109" + "6100",  # SDES item truncated
        "82cb0001" + "00000001",  # BYE names two sources, has one
        "81cb0002" + "00000001" + "09616263",  # BYE reason truncated
        "80cc0001" + "00000001",  # APP without name
        "81cd0002" + "0000000100000002",  # NACK without entries
        "81ce0001" + "00000001",  # PLI without media SSRC
        "84ce0003" + "00" * 12,  # FIR with half an entry
        "8fce0003" + "00" * 8 + "52454d42",  # REMB without rate
        "8fce0004" + "00" * 8 + "52454d42" + "01000001",  # REMB without its SSRC
        "8fce0004" + "00" * 8 + "52454d42" + "00ffffff",  # REMB beyond 64 bits
    ],
)
def test_malformed_packets_are_remote_errors(wire: str) -> None:
    with pytest.raises(RemoteError):
        parse_rtcp(bytes.fromhex(wire))


@pytest.mark.parametrize(
    "message",
    [
        ReceiverReport(ssrc=1 << 32),
        SenderReport(ssrc=1, ntp_timestamp=-1, rtp_timestamp=0, packet_count=0, octet_count=0),
        SourceDescription(ssrc=1, cname="x" * 256),
        Bye(ssrcs=(1,) * 32),
        Bye(ssrcs=(1,), reason="x" * 256),
        App(ssrc=1, subtype=32, name=b"test"),
        App(ssrc=1, subtype=0, name=b"te"),
        App(ssrc=1, subtype=0, name=b"test", data=b"odd"),
        Nack(sender_ssrc=1, media_ssrc=2, lost=()),
        Nack(sender_ssrc=1, media_ssrc=2, lost=(65536,)),
        FullIntraRequest(sender_ssrc=1, requests=()),
        FullIntraRequest(sender_ssrc=1, requests=((1, 256),)),
        ReceiverEstimatedMaximumBitrate(sender_ssrc=1, bitrate_bps=-1),
        ReceiverEstimatedMaximumBitrate(sender_ssrc=1, bitrate_bps=1, ssrcs=(1,) * 256),
    ],
)
def test_fields_out_of_range_are_local_errors(message: RtcpMessage) -> None:
    with pytest.raises(LocalError):
        serialize_rtcp([message])


@pytest.mark.parametrize(("fraction_lost", "packets_lost"), [(256, 0), (0, 1 << 23)])
def test_report_block_losses_out_of_range_are_local_errors(
    fraction_lost: int, packets_lost: int
) -> None:
    block = ReportBlock(
        ssrc=1,
        fraction_lost=fraction_lost,
        packets_lost=packets_lost,
        highest_sequence=0,
        jitter=0,
        last_sr=0,
        delay_since_last_sr=0,
    )
    with pytest.raises(LocalError):
        serialize_rtcp([ReceiverReport(ssrc=1, reports=(block,))])
