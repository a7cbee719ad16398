from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.packet import (
    RtpPacket,
    clear_extensions,
    is_rtcp,
    parse_rtp,
    unwrap_rtx,
    wrap_rtx,
)

PACKET = RtpPacket(96, True, 65535, 0xFFFFFFFF, 0x11223344, b"payload")

packets = st.builds(
    RtpPacket,
    payload_type=st.integers(0, 127),
    marker=st.booleans(),
    sequence_number=st.integers(0, 0xFFFF),
    timestamp=st.integers(0, 0xFFFFFFFF),
    ssrc=st.integers(0, 0xFFFFFFFF),
    payload=st.binary(max_size=40),
    csrcs=st.lists(st.integers(0, 0xFFFFFFFF), max_size=15).map(tuple),
    extensions=st.lists(st.tuples(st.integers(1, 255), st.binary(max_size=20)), max_size=4).map(
        tuple
    ),
    padding_bytes=st.integers(0, 255),
)


def with_extension_block(profile: int, block: bytes) -> bytes:
    header = bytes.fromhex("90600001000000020000000a")
    return header + profile.to_bytes(2, "big") + (len(block) // 4).to_bytes(2, "big") + block


def test_known_bytes() -> None:
    packet = RtpPacket(96, True, 0x1234, 0x01020304, 0xAABBCCDD, b"\x01", extensions=((3, b"m"),))
    assert (
        packet.serialize().hex() == "90e01234" + "01020304" + "aabbccdd" + "bede0001306d0000" + "01"
    )


@given(packets)
def test_any_packet_survives_the_wire(packet: RtpPacket) -> None:
    if packet.extensions and all(i < 15 and 1 <= len(v) <= 16 for i, v in packet.extensions):
        assert b"\xbe\xde" in packet.serialize()
    assert parse_rtp(packet.serialize()) == packet


@given(st.binary(max_size=80))
def test_random_bytes_parse_or_raise_remote_error(data: bytes) -> None:
    try:
        parse_rtp(data)
    except RemoteError:
        return


@given(packets, st.data())
def test_damaged_packets_parse_or_raise_remote_error(
    packet: RtpPacket, data: st.DataObject
) -> None:
    wire = bytearray(packet.serialize())
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, min(len(wire), 60) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse_rtp(bytes(wire[: data.draw(st.integers(0, len(wire)))]))
    except RemoteError:
        return


def test_one_byte_form_skips_padding_between_elements() -> None:
    packet = parse_rtp(with_extension_block(0xBEDE, bytes.fromhex("1041000052aabbcc")))
    assert packet.extensions == ((1, b"\x41"), (5, b"\xaa\xbb\xcc"))


@pytest.mark.parametrize("stop", ["f1", "03"], ids=["id 15", "id 0 with a length"])
def test_one_byte_form_stops_at(stop: str) -> None:
    packet = parse_rtp(
        with_extension_block(0xBEDE, bytes.fromhex("1041" + stop + "10421043ff")[:8])
    )
    assert packet.extensions == ((1, b"\x41"),)


@pytest.mark.parametrize("profile", [0x1000, 0x1007, 0x100F])
def test_two_byte_form_with_any_appbits(profile: int) -> None:
    packet = parse_rtp(with_extension_block(profile, bytes.fromhex("010000" + "14024142" + "00")))
    assert packet.extensions == ((1, b""), (20, b"AB"))


def test_extension_of_a_foreign_profile_is_skipped() -> None:
    packet = parse_rtp(with_extension_block(0x2000, bytes(4)) + b"media")
    assert packet.extensions == ()
    assert packet.payload == b"media"


@pytest.mark.parametrize(
    "extensions",
    [((15, b"a"),), ((1, b""),), ((1, bytes(17)),), ((1, b"a"), (255, bytes(255)))],
)
def test_two_byte_form_is_chosen_when_one_byte_cannot_carry_it(
    extensions: tuple[tuple[int, bytes], ...],
) -> None:
    wire = replace(PACKET, extensions=extensions).serialize()
    assert wire[12:14] == b"\x10\x00"
    assert parse_rtp(wire).extensions == extensions


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(11),
        bytes(12),  # version 0
        bytes.fromhex("81600001000000020000000a"),  # one CSRC announced
        bytes.fromhex("90600001000000020000000a"),  # extension announced
        bytes.fromhex("90600001000000020000000abede0001"),  # its words are missing
        bytes.fromhex("90600001000000020000000abede000113aabbcc"),  # element past the block
        bytes.fromhex("90600001000000020000000a1000000100000005"),  # no length byte
        bytes.fromhex("a0600001000000020000000a"),  # padding bit without padding
        bytes.fromhex("a0600001000000020000000a4100"),  # padding of nothing
        bytes.fromhex("a0600001000000020000000a4103"),  # more padding than payload
    ],
)
def test_malformed_packets_are_remote_errors(data: bytes) -> None:
    with pytest.raises(RemoteError):
        parse_rtp(data)


@pytest.mark.parametrize(
    "change",
    [
        {"payload_type": 128},
        {"sequence_number": 65536},
        {"timestamp": -1},
        {"csrcs": (1,) * 16},
        {"padding_bytes": 256},
        {"extensions": ((0, b"a"),)},
        {"extensions": ((256, b"a"),)},
        {"extensions": ((1, bytes(256)),)},
    ],
)
def test_fields_out_of_range_are_local_errors(change: dict[str, object]) -> None:
    with pytest.raises(LocalError):
        replace(PACKET, **change).serialize()  # type: ignore[arg-type]


@given(packets, st.sets(st.integers(1, 255), max_size=200))
def test_cleared_extensions_keep_their_lengths(packet: RtpPacket, ids: set[int]) -> None:
    cleared = tuple((i, bytes(len(v)) if i in ids else v) for i, v in packet.extensions)
    assert clear_extensions(packet.serialize(), ids) == (
        replace(packet, extensions=cleared).serialize()
    )


@given(packets, st.data())
def test_damaged_extensions_are_cleared_or_raise_remote_error(
    packet: RtpPacket, data: st.DataObject
) -> None:
    wire = bytearray(packet.serialize())
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, min(len(wire), 60) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(wire[: data.draw(st.integers(0, len(wire)))])
    try:
        assert len(clear_extensions(damaged, range(1, 256))) == len(damaged)
    except RemoteError:
        return


def test_rtcp_is_told_from_rtp_by_its_packet_type() -> None:
    assert is_rtcp(bytes((0x80, 200, 0, 0)))
    assert is_rtcp(bytes((0x81, 192)))
    assert is_rtcp(bytes((0x81, 223)))
    assert not is_rtcp(PACKET.serialize())
    assert not is_rtcp(bytes((0x80, 191)))
    assert not is_rtcp(bytes((0x80, 224)))
    assert not is_rtcp(bytes((0x00, 200)))  # STUN shares the port
    assert not is_rtcp(b"\x80")


def test_rtx_carries_the_original_sequence_number_in_front() -> None:
    rtx = wrap_rtx(PACKET, payload_type=97, ssrc=5, sequence_number=7)
    assert (rtx.payload_type, rtx.ssrc, rtx.sequence_number) == (97, 5, 7)
    assert rtx.payload == b"\xff\xffpayload"
    assert (rtx.timestamp, rtx.marker) == (PACKET.timestamp, PACKET.marker)


@given(packets)
def test_rtx_gives_the_original_back(packet: RtpPacket) -> None:
    rtx = wrap_rtx(packet, payload_type=97, ssrc=5, sequence_number=7)
    original = unwrap_rtx(
        parse_rtp(rtx.serialize()), payload_type=packet.payload_type, ssrc=packet.ssrc
    )
    assert original == replace(packet, padding_bytes=0)


def test_rtx_padding_probe_has_no_original() -> None:
    probe = parse_rtp(replace(PACKET, payload=b"", padding_bytes=200).serialize())
    assert unwrap_rtx(probe, payload_type=96, ssrc=1) is None


def test_rtx_of_one_byte_is_a_remote_error() -> None:
    with pytest.raises(RemoteError):
        unwrap_rtx(replace(PACKET, payload=b"\x00"), payload_type=96, ssrc=1)
