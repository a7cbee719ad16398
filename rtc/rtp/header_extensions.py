"""The block of RTP header extensions: one- and two-byte elements (RFC 8285 section 4)."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence

from codecpilot.codecs.errors import LocalError, RemoteError

Extensions = tuple[tuple[int, bytes], ...]

# Sections 4.2 and 4.3: the profiles, what an element of each form can carry, and reserved ids.
ONE_BYTE_PROFILE = 0xBEDE
TWO_BYTE_PROFILE = 0x1000
_TWO_BYTE_PROFILE_MASK = 0xFFF0  # the low four "appbits" are the application's (section 4.3)

MAX_ONE_BYTE_ID = 14
MAX_ONE_BYTE_LENGTH = 16
MAX_TWO_BYTE_ID = 255
MAX_TWO_BYTE_LENGTH = 255

_PADDING_ID = 0
_STOP_ID = 15
_BLOCK_HEADER = struct.Struct("!HH")


def parse_extensions(profile: int, block: bytes) -> Extensions:
    """(local id, value) pairs of a block; none for a profile that is not RFC 8285's.

    Raises RemoteError when an element runs past the block.
    """
    return tuple((i, block[start:end]) for i, start, end in _spans(profile, block))


def clear_values(profile: int, block: bytes, ids: Collection[int]) -> bytes:
    """The block with zeros for the values of these ids.

    Raises RemoteError when an element runs past the block.
    """
    cleared = bytearray(block)
    for extension_id, start, end in _spans(profile, block):
        if extension_id in ids:
            cleared[start:end] = bytes(end - start)
    return bytes(cleared)


def serialize_extensions(extensions: Sequence[tuple[int, bytes]]) -> bytes:
    """The whole block with its header, padded to words; one-byte elements unless one cannot be.

    Raises LocalError for an id outside 1..255 or a value over 255 bytes.
    """
    for extension_id, value in extensions:
        if not 1 <= extension_id <= MAX_TWO_BYTE_ID or len(value) > MAX_TWO_BYTE_LENGTH:
            raise LocalError(
                f"extension id {extension_id} must be 1..{MAX_TWO_BYTE_ID} "
                f"and its length {len(value)} 0..{MAX_TWO_BYTE_LENGTH}"
            )
    if needs_two_byte_form(extensions):
        profile = TWO_BYTE_PROFILE
        elements = [bytes((i, len(value))) + value for i, value in extensions]
    else:
        profile = ONE_BYTE_PROFILE
        elements = [bytes((i << 4 | len(value) - 1,)) + value for i, value in extensions]
    body = b"".join(elements)
    padding = -len(body) % 4
    return _BLOCK_HEADER.pack(profile, (len(body) + padding) // 4) + body + bytes(padding)


def needs_two_byte_form(extensions: Sequence[tuple[int, bytes]]) -> bool:
    """Whether an element has no one-byte form: id over 14, no bytes, or more than 16."""
    return any(
        extension_id > MAX_ONE_BYTE_ID or not 1 <= len(value) <= MAX_ONE_BYTE_LENGTH
        for extension_id, value in extensions
    )


def _spans(profile: int, block: bytes) -> list[tuple[int, int, int]]:
    """Id, start and end of each element's value."""
    if profile == ONE_BYTE_PROFILE:
        return _one_byte_spans(block)
    if profile & _TWO_BYTE_PROFILE_MASK == TWO_BYTE_PROFILE:
        return _two_byte_spans(block)
    return []


def _one_byte_spans(block: bytes) -> list[tuple[int, int, int]]:
    """Section 4.2."""
    found: list[tuple[int, int, int]] = []
    offset = 0
    while offset < len(block):
        extension_id, length = block[offset] >> 4, (block[offset] & 0x0F) + 1
        offset += 1
        if extension_id == _PADDING_ID and length == 1:
            continue
        # Section 4.2: id 15, and id 0 with a length, end the processing of the whole block.
        if extension_id in (_PADDING_ID, _STOP_ID):
            break
        found.append((extension_id, offset, _end(block, offset, length)))
        offset += length
    return found


def _two_byte_spans(block: bytes) -> list[tuple[int, int, int]]:
    """Section 4.3."""
    found: list[tuple[int, int, int]] = []
    offset = 0
    while offset < len(block):
        extension_id = block[offset]
        offset += 1
        if extension_id == _PADDING_ID:
            continue
        if offset == len(block):
            raise RemoteError(f"extension {extension_id} has no length byte")
        length = block[offset]
        offset += 1
        found.append((extension_id, offset, _end(block, offset, length)))
        offset += length
    return found


def _end(block: bytes, offset: int, length: int) -> int:
    if offset + length > len(block):
        raise RemoteError(f"a header extension of {length} bytes runs past its block")
    return offset + length
