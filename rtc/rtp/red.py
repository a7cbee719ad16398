"""RED (RFC 2198), as video uses it: one block a packet, which says whether it is media or FEC."""

from __future__ import annotations

from dataclasses import replace

from codecpilot.codecs.errors import LocalError, RemoteError

from .packet import RtpPacket

# Section 3: F and the block's payload type; where F is set, also 14 bits of time and 10 of length.
_MORE_FLAG = 0x80
_TYPE_MASK = 0x7F
_REDUNDANT_HEADER_BYTES = 4
_LENGTH_MASK = 0x3FF
RED_HEADER_BYTES = 1


def wrap_red(packet: RtpPacket, *, payload_type: int) -> RtpPacket:
    """packet as the one block of a RED packet; payload_type is RED's.

    Raises LocalError for a packet whose own payload type is outside 0..127.
    """
    if not 0 <= packet.payload_type <= _TYPE_MASK:
        raise LocalError(f"payload type {packet.payload_type} must be 0..{_TYPE_MASK}")
    block = bytes((packet.payload_type,)) + packet.payload
    return replace(packet, payload_type=payload_type, payload=block)


def unwrap_red(packet: RtpPacket) -> RtpPacket:
    """The packet of the primary block, with its own payload type; redundant blocks are skipped.

    Raises RemoteError for a truncated header or blocks longer than the payload. A packet without
    payload is padding, which has no blocks: tell it apart before.
    """
    payload = packet.payload
    at = redundant_bytes = 0
    while at < len(payload) and payload[at] & _MORE_FLAG:
        header = int.from_bytes(payload[at : at + _REDUNDANT_HEADER_BYTES], "big")
        redundant_bytes += header & _LENGTH_MASK
        at += _REDUNDANT_HEADER_BYTES
    start = at + RED_HEADER_BYTES + redundant_bytes
    if start > len(payload):
        raise RemoteError(f"RED blocks of {start} bytes in a payload of {len(payload)}")
    return replace(packet, payload_type=payload[at] & _TYPE_MASK, payload=payload[start:])
