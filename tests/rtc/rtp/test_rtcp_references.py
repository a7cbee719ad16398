from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.rtcp import (
    LtrAcknowledgement,
    ReceiverEstimatedMaximumBitrate,
    ReferencePictureSelection,
    RtcpMessage,
    UnknownRtcp,
    parse_rtcp,
    serialize_rtcp,
)

ssrcs = st.integers(0, 0xFFFFFFFF)
frame_ids = st.integers(0, 0xFFFF)
messages = st.one_of(
    st.builds(
        ReferencePictureSelection,
        sender_ssrc=ssrcs,
        media_ssrc=ssrcs,
        payload_type=st.integers(0, 127),
        frame_id=frame_ids,
    ),
    st.builds(
        LtrAcknowledgement,
        sender_ssrc=ssrcs,
        media_ssrc=ssrcs,
        frame_ids=st.lists(frame_ids, min_size=1, max_size=16).map(tuple),
    ),
    st.builds(ReceiverEstimatedMaximumBitrate, sender_ssrc=ssrcs, bitrate_bps=st.just(1 << 20)),
)
SELECTION = ReferencePictureSelection(
    sender_ssrc=1, media_ssrc=2, payload_type=103, frame_id=0x012D
)
ACKNOWLEDGEMENT = LtrAcknowledgement(sender_ssrc=1, media_ssrc=2, frame_ids=(0x0123, 0xFFFF))
SSRCS = "00000001" + "00000002"


def test_known_bytes_of_a_selection() -> None:
    assert serialize_rtcp([SELECTION]).hex() == "83ce0003" + SSRCS + "0067012d"


def test_known_bytes_of_acknowledgements() -> None:
    wire = serialize_rtcp([ACKNOWLEDGEMENT])
    assert wire.hex() == "8fce0005" + SSRCS + "43504c41" + "00020123" + "ffff0000"
    single = LtrAcknowledgement(sender_ssrc=1, media_ssrc=2, frame_ids=(7,))
    assert serialize_rtcp([single]).hex() == "8fce0004" + SSRCS + "43504c41" + "00010007"


@given(st.lists(messages, min_size=1, max_size=5))
def test_any_compound_survives_the_wire(compound: list[RtcpMessage]) -> None:
    assert parse_rtcp(serialize_rtcp(compound)) == compound


@given(messages, st.data())
def test_damaged_messages_parse_or_raise_remote_error(
    message: RtcpMessage, data: st.DataObject
) -> None:
    wire = bytearray(serialize_rtcp([message]))
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse_rtcp(bytes(wire[: data.draw(st.integers(0, len(wire)))]))
    except RemoteError:
        return


def test_a_selection_with_padding_bits_and_the_reserved_bit() -> None:
    # 48 bits of entry behind PB and PT, 32 of them padding.
    wire = bytes.fromhex("83ce0004" + SSRCS + "20e7012d" + "00000000")
    assert parse_rtcp(wire) == [SELECTION]


@pytest.mark.parametrize("entry", ["0867012d", "0067012d00000000"], ids=["8 bits", "48 bits"])
def test_a_selection_of_another_codec_is_unknown(entry: str) -> None:
    body = bytes.fromhex(SSRCS + entry)
    wire = bytes((0x83, 206, 0, len(body) // 4)) + body
    assert parse_rtcp(wire) == [UnknownRtcp(packet_type=206, count=3, body=body)]


def test_what_follows_the_acknowledged_frames_is_ignored() -> None:
    wire = bytes.fromhex("8fce0006" + SSRCS + "43504c41" + "00020123" + "ffff5555" + "55555555")
    assert parse_rtcp(wire) == [ACKNOWLEDGEMENT]


@pytest.mark.parametrize("name", ["", "43504c42"], ids=["no name", "another name"])
def test_another_application_stays_unknown(name: str) -> None:
    body = bytes.fromhex(SSRCS + name)
    wire = bytes((0x8F, 206, 0, len(body) // 4)) + body
    assert parse_rtcp(wire) == [UnknownRtcp(packet_type=206, count=15, body=body)]


@pytest.mark.parametrize(
    "wire",
    [
        "83ce0001" + "00000001",  # RPSI without media SSRC
        "83ce0002" + SSRCS,  # RPSI without an entry
        "83ce0003" + SSRCS + "1167012d",  # 17 padding bits in 16
        "83ce0003" + SSRCS + "ff67012d",
        "8fce0001" + "00000001",  # feedback without media SSRC
        "8fce0003" + SSRCS + "43504c41",  # no count
        "8fce0004" + SSRCS + "43504c41" + "00000000",  # nothing acknowledged
        "8fce0004" + SSRCS + "43504c41" + "00020001",  # two announced, one there
        "8fce000c" + SSRCS + "43504c41" + "0011" + "0001" * 17,  # 17
        "8fce0004" + SSRCS + "43504c41" + "ffff0001",
    ],
)
def test_malformed_messages_are_remote_errors(wire: str) -> None:
    with pytest.raises(RemoteError):
        parse_rtcp(bytes.fromhex(wire))


@pytest.mark.parametrize(
    "message",
    [
        ReferencePictureSelection(sender_ssrc=1, media_ssrc=2, payload_type=128, frame_id=0),
        ReferencePictureSelection(sender_ssrc=1, media_ssrc=2, payload_type=96, frame_id=65536),
        ReferencePictureSelection(sender_ssrc=1, media_ssrc=2, payload_type=96, frame_id=-1),
        LtrAcknowledgement(sender_ssrc=1, media_ssrc=2, frame_ids=()),
        LtrAcknowledgement(sender_ssrc=1, media_ssrc=2, frame_ids=(1,) * 17),
        LtrAcknowledgement(sender_ssrc=1, media_ssrc=2, frame_ids=(65536,)),
    ],
)
def test_fields_out_of_range_are_local_errors(message: RtcpMessage) -> None:
    with pytest.raises(LocalError):
        serialize_rtcp([message])
