"""What FlexFEC and ULPFEC share: the XOR over RTP packets, and the packet that it gives back."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from codecpilot.codecs.errors import LocalError, RemoteError

from .packet import HEADER_BYTES, RTP_VERSION, clear_extensions

# RFC 5109 section 8.1, FlexFEC-03 section 6.2: what of the fixed header is protected, as FlexFEC puts it on the wire.
FIXED = struct.Struct("!BBHI")
"""P, X, CC; M, PT; the length behind the fixed RTP header; the timestamp."""
FLAGS_MASK = 0x3F  # P, X and CC; the two bits above them belong to the FEC header

_MAX_LENGTH_BYTES = 0xFFFF
_SEQUENCE_MASK = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class FecPacket:
    """One packet's worth of parity over packets of one media stream.

    sequence_numbers are those of the protected packets, in the order of sending; parity is the XOR
    of their fec_bits().
    """

    media_ssrc: int
    sequence_numbers: tuple[int, ...]
    parity: bytes


def fec_bits(data: bytes, *, stamp_ids: Collection[int]) -> bytes:
    """What FEC protects of an RTP packet; stamp_ids are ExtensionMap.stamp_ids.

    Stamps count as zero: the sender writes them after it computed the parity (libwebrtc
    ZeroMutableExtensions). Raises RemoteError for a header that is not RTP's.
    """
    data = clear_extensions(data, stamp_ids)
    length_bytes = len(data) - HEADER_BYTES
    if length_bytes > _MAX_LENGTH_BYTES:
        raise RemoteError(f"a packet of {len(data)} bytes is too long for FEC")
    fixed = bytes((data[0] & FLAGS_MASK, data[1])) + length_bytes.to_bytes(2, "big") + data[4:8]
    return fixed + data[HEADER_BYTES:]


def protect(packets: Sequence[bytes], *, stamp_ids: Collection[int]) -> FecPacket:
    """The parity over packets of one stream, given as they are sent and in that order.

    Raises LocalError for no packets, another order or several streams.
    """
    if not packets:
        raise LocalError("FEC over no packets")
    bits = [fec_bits(data, stamp_ids=stamp_ids) for data in packets]
    ssrcs = {int.from_bytes(data[8:12], "big") for data in packets}
    numbers = tuple(int.from_bytes(data[2:4], "big") for data in packets)
    offsets = offsets_of(numbers)
    rising = all(a < b for a, b in pairwise(offsets)) and offsets[-1] <= _SEQUENCE_MASK >> 1
    if len(ssrcs) > 1 or not rising:
        raise LocalError(f"FEC over SSRCs {ssrcs}, sequence numbers {numbers}: one, rising")
    return FecPacket(media_ssrc=ssrcs.pop(), sequence_numbers=numbers, parity=_xor(bits))


def recover(fec: FecPacket, present: Mapping[int, bytes]) -> bytes:
    """The one protected packet that is not among present, as bytes with its stamps zero.

    present maps sequence numbers to fec_bits(). Raises LocalError unless exactly one is missing,
    RemoteError when packets and parity do not belong together or the parity is too short.
    """
    missing = [number for number in fec.sequence_numbers if number not in present]
    if len(missing) != 1:
        raise LocalError(f"FEC recovers one packet, {len(missing)} are missing")
    # RFC 5109 section 8.2: parity that is shorter than a packet protects the packet's head alone.
    heads = [present[n][: len(fec.parity)] for n in fec.sequence_numbers if n != missing[0]]
    bits = _xor([fec.parity, *heads])
    flags, marker_and_type, length_bytes, timestamp = FIXED.unpack_from(bits)
    end = FIXED.size + length_bytes
    if end > len(bits):
        raise RemoteError(f"FEC over {len(bits)} bytes announces a packet of {end}")
    if bits.count(0, end) != len(bits) - end:
        raise RemoteError(f"FEC leaves bytes behind a packet of {end}")
    first = RTP_VERSION << 6 | flags & FLAGS_MASK
    header = struct.pack("!BBHII", first, marker_and_type, missing[0], timestamp, fec.media_ssrc)
    return header + bits[FIXED.size : end]


def offsets_of(sequence_numbers: Sequence[int]) -> tuple[int, ...]:
    """How far each number is ahead of the first."""
    base = sequence_numbers[0]
    return tuple((number - base) & _SEQUENCE_MASK for number in sequence_numbers)


def at_offsets(base: int, offsets: Iterable[int]) -> tuple[int, ...]:
    """The sequence numbers at these offsets; the inverse of offsets_of()."""
    return tuple((base + offset) & _SEQUENCE_MASK for offset in offsets)


def mask_bits(offsets: Iterable[int], *, first: int, width: int) -> int:
    """width bits of a mask, most significant for offset `first`: set for each offset among them."""
    last = first + width - 1
    return sum(1 << (last - offset) for offset in offsets if first <= offset <= last)


def masked_offsets(mask: int, *, first: int, width: int) -> list[int]:
    """The offsets that width bits of a mask name; the inverse of mask_bits()."""
    return [first + i for i in range(width) if mask >> (width - 1 - i) & 1]


def _xor(strings: Iterable[bytes]) -> bytes:
    """The XOR, as long as the longest; shorter ones count as followed by zeros."""
    total = longest = 0
    for string in strings:
        # Little-endian, so that the missing bytes are the most significant ones.
        total ^= int.from_bytes(string, "little")
        longest = max(longest, len(string))
    return total.to_bytes(longest, "little")
