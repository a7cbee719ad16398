"""Groups of RTP packets for FEC tests, and parity computed byte by byte, as RFC 5109 section 8.1 says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from codecpilot.rtc.rtp.fec import fec_bits
from codecpilot.rtc.rtp.packet import RtpPacket

STAMP_IDS = frozenset({3, 200})
SSRC = 0x0A0B0C0D

# The pair of the worked examples: parity 00 80 | 0003 | 00000030 | 0e02.
PAIR = (
    RtpPacket(0x60, False, 1, 0x10, SSRC, b"\x01\x02"),
    RtpPacket(0x60, True, 2, 0x20, SSRC, b"\x0f"),
)
PAIR_DATA = tuple(packet.serialize() for packet in PAIR)

_extensions = st.lists(
    st.tuples(st.sampled_from((1, 3, 9, 14)), st.binary(min_size=1, max_size=16))
    | st.tuples(st.sampled_from((3, 20, 200)), st.binary(max_size=30)),
    max_size=4,
).map(tuple)
_packets = st.builds(
    RtpPacket,
    payload_type=st.integers(0, 127),
    marker=st.booleans(),
    sequence_number=st.just(0),
    timestamp=st.integers(0, 0xFFFFFFFF),
    ssrc=st.just(SSRC),
    payload=st.binary(max_size=60),
    csrcs=st.lists(st.integers(0, 0xFFFFFFFF), max_size=3).map(tuple),
    extensions=_extensions,
    padding_bytes=st.sampled_from((0, 0, 0, 1, 7)),
)


@st.composite
def groups(draw: st.DrawFn, *, max_span: int) -> list[RtpPacket]:
    """Packets of one stream with gaps between their numbers, often across the wrap."""
    offsets = draw(st.sets(st.integers(1, max_span - 1), max_size=6))
    base = draw(st.sampled_from((0, 65535, 65500)) | st.integers(0, 0xFFFF))
    return [
        replace(draw(_packets), sequence_number=(base + offset) & 0xFFFF)
        for offset in [0, *sorted(offsets)]
    ]


def bits_of(packets: Sequence[RtpPacket]) -> dict[int, bytes]:
    """What recover() wants to know of the packets that arrived."""
    return {p.sequence_number: fec_bits(p.serialize(), stamp_ids=STAMP_IDS) for p in packets}


def without_stamps(packet: RtpPacket) -> RtpPacket:
    """The packet with zeros in its stamps, made from its values and not from its bytes."""
    return replace(
        packet,
        extensions=tuple(
            (i, bytes(len(value)) if i in STAMP_IDS else value) for i, value in packet.extensions
        ),
    )


def parity_byte_by_byte(packets: Sequence[RtpPacket]) -> bytes:
    """P, X, CC, M, PT, length, timestamp and the rest, one byte at a time."""
    longest = max(len(p.serialize()) for p in packets)
    parity = bytearray(8 + longest - 12)
    for packet in packets:
        data = without_stamps(packet).serialize()
        parity[0] ^= data[0] & 0x3F
        parity[1] ^= data[1]
        length = len(data) - 12
        parity[2] ^= length >> 8
        parity[3] ^= length & 0xFF
        for i in range(4):
            parity[4 + i] ^= data[4 + i]
        for i, byte in enumerate(data[12:]):
            parity[8 + i] ^= byte
    return bytes(parity)
