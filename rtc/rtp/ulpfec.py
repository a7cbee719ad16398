"""ULPFEC (RFC 5109), level 0: inside RED, on the media stream's SSRC and in its sequence numbers."""

from __future__ import annotations

import struct

from codecpilot.codecs.errors import LocalError, RemoteError

from .fec import FIXED, FLAGS_MASK, FecPacket, at_offsets, mask_bits, masked_offsets, offsets_of

# Sections 7.3 and 7.4: E, L, P, X, CC; M, PT; base sequence number; timestamp; length; then level 0's length.
_HEADER = struct.Struct("!BBHIHH")
_EXTENSION_FLAG = 0x80
_LONG_MASK_FLAG = 0x40
_SHORT_MASK_BITS, _LONG_MASK_BITS = 16, 48
MAX_SPAN = _LONG_MASK_BITS
"""A group ends less than this many sequence numbers after it begins."""


def serialize_ulpfec(fec: FecPacket) -> bytes:
    """The FEC block for RED: 14 or 18 bytes for a span of 16 or 48, then parity.

    Raises LocalError for a group that spans more.
    """
    offsets = offsets_of(fec.sequence_numbers)
    if offsets[-1] >= MAX_SPAN:
        raise LocalError(f"a ULPFEC group spans {offsets[-1] + 1}, at most {MAX_SPAN} can be")
    is_long = offsets[-1] >= _SHORT_MASK_BITS
    width = _LONG_MASK_BITS if is_long else _SHORT_MASK_BITS
    flags, marker_and_type, length_bytes, timestamp = FIXED.unpack_from(fec.parity)
    payload = fec.parity[FIXED.size :]
    header = _HEADER.pack(
        flags | is_long * _LONG_MASK_FLAG,
        marker_and_type,
        fec.sequence_numbers[0],
        timestamp,
        length_bytes,
        len(payload),
    )
    mask = mask_bits(offsets, first=0, width=width).to_bytes(width // 8, "big")
    return header + mask + payload


def parse_ulpfec(block: bytes, *, media_ssrc: int) -> FecPacket:
    """The FEC packet of a RED block; media_ssrc is the SSRC of the packet that brought it.

    Levels behind the first are ignored. Raises RemoteError for truncated data, a protection length
    that is not there, a mask that names nothing, and the reserved extension flag.
    """
    if len(block) < _HEADER.size:
        raise RemoteError(f"a ULPFEC header has {_HEADER.size} bytes and a mask, got {len(block)}")
    flags, marker_and_type, base, timestamp, length_bytes, protected_bytes = _HEADER.unpack_from(
        block
    )
    if flags & _EXTENSION_FLAG:
        raise RemoteError("ULPFEC with the extension flag is not defined")
    width = _LONG_MASK_BITS if flags & _LONG_MASK_FLAG else _SHORT_MASK_BITS
    start = _HEADER.size + width // 8
    if len(block) < start + protected_bytes:
        raise RemoteError(f"ULPFEC over {protected_bytes} bytes in a block of {len(block)}")
    mask = int.from_bytes(block[_HEADER.size : start], "big")
    if not mask:
        raise RemoteError("a ULPFEC packet protects nothing")
    fixed = FIXED.pack(flags & FLAGS_MASK, marker_and_type, length_bytes, timestamp)
    return FecPacket(
        media_ssrc=media_ssrc,
        sequence_numbers=at_offsets(base, masked_offsets(mask, first=0, width=width)),
        parity=fixed + block[start : start + protected_bytes],
    )
