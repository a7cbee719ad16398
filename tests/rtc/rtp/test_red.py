from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.fec import protect, recover
from codecpilot.rtc.rtp.packet import RtpPacket, parse_rtp
from codecpilot.rtc.rtp.red import unwrap_red, wrap_red
from codecpilot.rtc.rtp.ulpfec import parse_ulpfec, serialize_ulpfec

from .fec_groups import PAIR, bits_of, groups

RED, ULPFEC = 120, 121
PACKET = RtpPacket(96, True, 7, 8, 9, b"media", extensions=((1, b"a"),))


def red(payload: str) -> RtpPacket:
    return RtpPacket(RED, True, 7, 8, 9, bytes.fromhex(payload))


def test_known_bytes() -> None:
    wrapped = wrap_red(PACKET, payload_type=RED)
    assert wrapped == replace(PACKET, payload_type=RED, payload=b"\x60media")


@given(groups(max_span=2))
def test_any_packet_comes_back_over_the_wire(group: list[RtpPacket]) -> None:
    for packet in group:
        wrapped = wrap_red(packet, payload_type=RED)
        assert unwrap_red(parse_rtp(wrapped.serialize())) == packet


def test_fec_in_red_protects_the_packets_before_red() -> None:
    fec = protect([p.serialize() for p in PAIR], stamp_ids=())
    block = replace(PAIR[1], payload_type=ULPFEC, sequence_number=3, payload=serialize_ulpfec(fec))
    received = unwrap_red(parse_rtp(wrap_red(block, payload_type=RED).serialize()))
    assert received.payload_type == ULPFEC
    media = unwrap_red(parse_rtp(wrap_red(PAIR[0], payload_type=RED).serialize()))
    read = parse_ulpfec(received.payload, media_ssrc=received.ssrc)
    assert parse_rtp(recover(read, bits_of([media]))) == PAIR[1]


def test_redundant_blocks_are_skipped() -> None:
    # Two blocks of 3 and 1 bytes, 10 and 5 timestamp units old, before the primary.
    packet = unwrap_red(red("e0002803" + "e1001401" + "62" + "010203" + "04" + "aabb"))
    assert packet.payload_type == 0x62
    assert packet.payload == b"\xaa\xbb"
    assert (packet.sequence_number, packet.timestamp, packet.marker) == (7, 8, True)


def test_a_primary_block_may_be_empty() -> None:
    assert unwrap_red(red("60")).payload == b""


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "e0",  # header truncated
        "e0000003",  # no primary block
        "e0000003" + "60" + "0102",  # the redundant block is longer
        "e00003ff" + "60" + "01",
        "e0000000" * 3,
    ],
)
def test_malformed_blocks_are_remote_errors(payload: str) -> None:
    with pytest.raises(RemoteError):
        unwrap_red(red(payload))


@given(st.binary(max_size=40))
def test_random_bytes_unwrap_or_raise_remote_error(payload: bytes) -> None:
    try:
        packet = unwrap_red(replace(PACKET, payload=payload))
    except RemoteError:
        return
    assert payload.endswith(packet.payload)
    assert len(packet.payload) < len(payload)


def test_a_payload_type_out_of_range_is_a_local_error() -> None:
    with pytest.raises(LocalError):
        wrap_red(replace(PACKET, payload_type=128), payload_type=RED)
