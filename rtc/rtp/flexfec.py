"""FlexFEC on an SSRC of its own (draft-ietf-payload-flexible-fec-scheme-03), as libwebrtc understands it."""

from __future__ import annotations

import struct

from codecpilot.codecs.errors import LocalError, RemoteError

from .fec import FIXED, FLAGS_MASK, FecPacket, at_offsets, mask_bits, masked_offsets, offsets_of

# Section 4.2: SSRC count, reserved; SSRC; base sequence number. Each mask part begins with a bit that says "last".
_STREAM = struct.Struct("!B3xIH")
_MASK_AT = FIXED.size + _STREAM.size
_MASK_WIDTHS = (15, 31, 63)
MAX_SPAN = sum(_MASK_WIDTHS)
"""A group ends less than this many sequence numbers after it begins."""


def serialize_flexfec(fec: FecPacket) -> bytes:
    """The payload of the FEC packet: 20, 24 or 32 bytes for a span of 15, 46 or 109, then parity.

    Raises LocalError for a group that spans more.
    """
    offsets = offsets_of(fec.sequence_numbers)
    stream = _STREAM.pack(1, fec.media_ssrc, fec.sequence_numbers[0])
    fixed, payload = fec.parity[: FIXED.size], fec.parity[FIXED.size :]
    return b"".join((fixed, stream, _write_mask(offsets), payload))


def parse_flexfec(payload: bytes) -> FecPacket:
    """The FEC packet of an RTP payload.

    Raises RemoteError for a truncated header, a mask that names nothing or goes on past its end,
    and for what libwebrtc refuses too: retransmissions, fixed masks, several streams.
    """
    if len(payload) < _MASK_AT:
        raise RemoteError(f"a FlexFEC header has {_MASK_AT} bytes and a mask, got {len(payload)}")
    if payload[0] & ~FLAGS_MASK:
        raise RemoteError("FlexFEC retransmissions and fixed masks are not supported")
    ssrc_count, media_ssrc, base = _STREAM.unpack_from(payload, FIXED.size)
    if ssrc_count != 1:
        raise RemoteError(f"a FlexFEC packet protects {ssrc_count} streams, 1 expected")
    offsets, end = _read_mask(payload)
    if not offsets:
        raise RemoteError("a FlexFEC packet protects nothing")
    return FecPacket(
        media_ssrc=media_ssrc,
        sequence_numbers=at_offsets(base, offsets),
        parity=payload[: FIXED.size] + payload[end:],
    )


def _write_mask(offsets: tuple[int, ...]) -> bytes:
    mask, first = b"", 0
    for width in _MASK_WIDTHS:
        is_last = offsets[-1] < first + width
        part = is_last << width | mask_bits(offsets, first=first, width=width)
        mask += part.to_bytes((width + 1) // 8, "big")
        if is_last:
            return mask
        first += width
    raise LocalError(f"a FlexFEC group spans {offsets[-1] + 1}, at most {MAX_SPAN} can be")


def _read_mask(payload: bytes) -> tuple[list[int], int]:
    """The offsets, and where the mask ends."""
    offsets: list[int] = []
    at, first = _MASK_AT, 0
    for width in _MASK_WIDTHS:
        end = at + (width + 1) // 8
        if len(payload) < end:
            raise RemoteError(f"a FlexFEC mask is truncated after {len(payload) - _MASK_AT} bytes")
        part = int.from_bytes(payload[at:end], "big")
        offsets += masked_offsets(part, first=first, width=width)
        if part >> width:
            return offsets, end
        at, first = end, first + width
    raise RemoteError(f"a FlexFEC mask goes on after {MAX_SPAN} bits")
