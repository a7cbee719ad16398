"""RTP packets (RFC 3550 section 5.1) with their header extensions (RFC 8285), RTX (RFC 4588)."""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass, replace

from codecpilot.codecs.errors import LocalError, RemoteError

from .header_extensions import clear_values, parse_extensions, serialize_extensions

# RFC 3550 sections 5.1 and 5.3.1; RFC 4588 section 4.
RTP_VERSION = 2
HEADER_BYTES = 12
EXTENSION_HEADER_BYTES = 4
RTX_HEADER_BYTES = 2

_FIXED = struct.Struct("!BBHII")
_PROFILE_AND_LENGTH = struct.Struct("!HH")
_SEQUENCE = struct.Struct("!H")


@dataclass(frozen=True, slots=True)
class RtpPacket:
    """One RTP packet. extensions are (local id, value) pairs in wire order.

    padding_bytes is the whole padding, its count byte included; 0 means no padding bit.
    """

    payload_type: int
    marker: bool
    sequence_number: int
    timestamp: int
    ssrc: int
    payload: bytes
    csrcs: tuple[int, ...] = ()
    extensions: tuple[tuple[int, bytes], ...] = ()
    padding_bytes: int = 0

    def serialize(self) -> bytes:
        """The packet's bytes. Raises LocalError for a field that its width cannot carry."""
        if not (0 <= self.payload_type <= 127 and len(self.csrcs) <= 15):
            raise LocalError(
                f"payload type {self.payload_type} must be 0..127 "
                f"and CSRC count {len(self.csrcs)} 0..15"
            )
        if not 0 <= self.padding_bytes <= 255:
            raise LocalError(f"padding_bytes {self.padding_bytes} is outside 0..255")
        first = (
            RTP_VERSION << 6
            | (self.padding_bytes > 0) << 5
            | (len(self.extensions) > 0) << 4
            | len(self.csrcs)
        )
        second = self.marker << 7 | self.payload_type
        try:
            header = _FIXED.pack(first, second, self.sequence_number, self.timestamp, self.ssrc)
            csrcs = struct.pack(f"!{len(self.csrcs)}I", *self.csrcs)
        except struct.error as error:
            raise LocalError(f"an RTP header field is out of range: {error}") from error
        extensions = serialize_extensions(self.extensions) if self.extensions else b""
        return b"".join((header, csrcs, extensions, self.payload, self._padding()))

    def _padding(self) -> bytes:
        if not self.padding_bytes:
            return b""
        return bytes(self.padding_bytes - 1) + bytes((self.padding_bytes,))


def parse_rtp(data: bytes) -> RtpPacket:
    """Parse one datagram. Raises RemoteError for anything that RFC 3550 or RFC 8285 forbids.

    A header extension of another profile than RFC 8285's two is skipped (RFC 3550 section 5.3.1).
    """
    offset = _csrcs_end(data)
    first, second, sequence_number, timestamp, ssrc = _FIXED.unpack_from(data)
    csrc_count = first & 0x0F
    csrcs = struct.unpack_from(f"!{csrc_count}I", data, HEADER_BYTES) if csrc_count else ()
    extensions: tuple[tuple[int, bytes], ...] = ()
    if first & 0x10:
        profile, start, offset = _extension_block(data, offset)
        extensions = parse_extensions(profile, data[start:offset])
    padding_bytes = _padding_bytes(data, offset) if first & 0x20 else 0
    return RtpPacket(
        second & 0x7F,
        bool(second & 0x80),
        sequence_number,
        timestamp,
        ssrc,
        data[offset : len(data) - padding_bytes],
        csrcs,
        extensions,
        padding_bytes,
    )


def clear_extensions(data: bytes, ids: Collection[int]) -> bytes:
    """The same packet with zeros for the values of these header extensions.

    Raises RemoteError for a header that RFC 3550 or RFC 8285 forbids.
    """
    offset = _csrcs_end(data)
    if not data[0] & 0x10:
        return data
    profile, start, end = _extension_block(data, offset)
    return data[:start] + clear_values(profile, data[start:end], ids) + data[end:]


def is_rtcp(data: bytes) -> bool:
    """Whether a datagram of a multiplexed transport is RTCP (RFC 5761 section 4)."""
    return len(data) >= 2 and data[0] >> 6 == RTP_VERSION and 192 <= data[1] <= 223


def wrap_rtx(packet: RtpPacket, *, payload_type: int, ssrc: int, sequence_number: int) -> RtpPacket:
    """The retransmission of packet on the RTX stream (RFC 4588 section 4).

    Extensions are kept as they are; what counts transmissions (transport-wide sequence number,
    send time) has to be stamped anew by whoever sends it.
    """
    return replace(
        packet,
        payload_type=payload_type,
        ssrc=ssrc,
        sequence_number=sequence_number,
        payload=_SEQUENCE.pack(packet.sequence_number) + packet.payload,
        padding_bytes=0,
    )


def unwrap_rtx(packet: RtpPacket, *, payload_type: int, ssrc: int) -> RtpPacket | None:
    """The original of a packet of the RTX stream, with the media stream's payload type and SSRC.

    None for an empty payload: browsers probe the path with padding-only packets on the RTX stream.
    Raises RemoteError when a payload is too short for the original sequence number.
    """
    if not packet.payload:
        return None
    if len(packet.payload) < RTX_HEADER_BYTES:
        raise RemoteError(f"an RTX payload of {len(packet.payload)} byte has no sequence number")
    (sequence_number,) = _SEQUENCE.unpack_from(packet.payload)
    return replace(
        packet,
        payload_type=payload_type,
        ssrc=ssrc,
        sequence_number=sequence_number,
        payload=packet.payload[RTX_HEADER_BYTES:],
        padding_bytes=0,
    )


def _csrcs_end(data: bytes) -> int:
    """Where the fixed header and the CSRCs end."""
    if len(data) < HEADER_BYTES:
        raise RemoteError(f"an RTP header has {HEADER_BYTES} bytes, got {len(data)}")
    if data[0] >> 6 != RTP_VERSION:
        raise RemoteError(f"RTP version {data[0] >> 6} is not {RTP_VERSION}")
    csrc_count = data[0] & 0x0F
    end = HEADER_BYTES + 4 * csrc_count
    if len(data) < end:
        raise RemoteError(f"{csrc_count} CSRCs announced, the packet has {len(data)} bytes")
    return end


def _extension_block(data: bytes, offset: int) -> tuple[int, int, int]:
    """The profile, and where the elements begin and end."""
    start = offset + EXTENSION_HEADER_BYTES
    if len(data) < start:
        raise RemoteError("the header extension is truncated")
    profile, words = _PROFILE_AND_LENGTH.unpack_from(data, offset)
    end = start + 4 * words
    if len(data) < end:
        raise RemoteError(f"the header extension announces {words} words, the packet ends before")
    return profile, start, end


def _padding_bytes(data: bytes, offset: int) -> int:
    # RFC 3550 section 5.1: the last byte counts the padding, itself included.
    count = data[-1]
    if not 1 <= count <= len(data) - offset:
        raise RemoteError(f"padding of {count} bytes in a payload of {len(data) - offset}")
    return count
