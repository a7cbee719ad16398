"""What a datagram of a simulated call is, and how large it is on the wire."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from ..datagram import RTCP_OVERHEAD_BYTES, RTP_OVERHEAD_BYTES
from ..messages import NegotiatedCodec
from ..rtp.packet import HEADER_BYTES, RTX_HEADER_BYTES, is_rtcp
from .records import PacketKind

AUDIO_PAYLOAD_TYPE = 96

_FIXED = struct.Struct("!xBHI")


@dataclass(frozen=True, slots=True)
class Description:
    """A packet's kind, sequence number (RTX: of what it repeats) and RTP timestamp; 0 for RTCP."""

    kind: PacketKind
    sequence: int
    timestamp: int
    payload_bytes: int


class Wire:
    """Reads what our own peers send: nothing is malformed."""

    def __init__(self, codecs: Iterable[NegotiatedCodec]) -> None:
        self._kinds = {AUDIO_PAYLOAD_TYPE: PacketKind.AUDIO}
        for codec in codecs:
            self._kinds[codec.payload_type] = PacketKind.MEDIA
            if codec.rtx_payload_type is not None:
                self._kinds[codec.rtx_payload_type] = PacketKind.RTX

    def describe(self, data: bytes) -> Description:
        """What a datagram is, by its payload type: FEC has one of its own."""
        if is_rtcp(data):
            return Description(PacketKind.RTCP, 0, 0, 0)
        second, sequence, timestamp = _FIXED.unpack_from(data)
        kind = self._kinds.get(second & 0x7F, PacketKind.FEC)
        start = _header_bytes(data)
        if kind is PacketKind.RTX and len(data) >= start + RTX_HEADER_BYTES:
            sequence = int.from_bytes(data[start : start + RTX_HEADER_BYTES], "big")
        return Description(kind, sequence, timestamp, len(data) - start)


def wire_bytes(data: bytes) -> int:
    """IP, UDP and SRTP (or SRTCP) around a datagram counted in."""
    return len(data) + (RTCP_OVERHEAD_BYTES if is_rtcp(data) else RTP_OVERHEAD_BYTES)


def _header_bytes(data: bytes) -> int:
    """RFC 3550 5.1 and 5.3.1; our packets have no CSRCs."""
    if not data[0] & 0x10:
        return HEADER_BYTES
    return HEADER_BYTES + 4 + 4 * int.from_bytes(data[HEADER_BYTES + 2 : HEADER_BYTES + 4], "big")
