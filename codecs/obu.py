"""AV1 open bitstream units: leb128 sizes, headers, and the units of a temporal unit.

Section numbers are those of the AV1 bitstream specification, version 1.0.0 with errata 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from .errors import LocalError, RemoteError


class ObuType(IntEnum):
    """obu_type (6.2.2); other values are reserved and their units are skipped by decoders."""

    SEQUENCE_HEADER = 1
    TEMPORAL_DELIMITER = 2
    FRAME_HEADER = 3
    TILE_GROUP = 4
    METADATA = 5
    FRAME = 6
    REDUNDANT_FRAME_HEADER = 7
    TILE_LIST = 8
    PADDING = 15


_LEB128_MAX_BYTES = 8
"""4.10.5: at most eight bytes, and a value below 2^32."""
_LEB128_LIMIT = 1 << 32
_EXTENSION_FLAG, _SIZE_FLAG = 0x04, 0x02


@dataclass(frozen=True, slots=True, kw_only=True)
class Obu:
    """One unit. type is obu_type as it stands (an ObuType, or a reserved value).

    temporal_id and spatial_id are None without the extension byte. payload excludes header,
    extension and size.
    """

    type: int
    payload: bytes
    temporal_id: int | None = None
    spatial_id: int | None = None


def read_leb128(data: bytes, offset: int = 0) -> tuple[int, int]:
    """The number at offset, and the offset behind it (4.10.5). Raises RemoteError."""
    value = 0
    for index, byte in enumerate(data[offset : offset + _LEB128_MAX_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if not byte & 0x80:
            if value >= _LEB128_LIMIT:
                raise RemoteError(f"leb128 value {value} is 2^32 or more")
            return value, offset + index + 1
    raise RemoteError(f"leb128 at byte {offset} of {len(data)} has no end")


def write_leb128(value: int) -> bytes:
    """The shortest leb128 form of 0..2^32-1. Raises LocalError outside."""
    if not 0 <= value < _LEB128_LIMIT:
        raise LocalError(f"leb128 value {value} is outside 0..{_LEB128_LIMIT - 1}")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_obus(data: bytes) -> Iterator[Obu]:
    """The units of a temporal unit in the low-overhead format (5.2). Raises RemoteError.

    A unit without a size field reaches to the end of data, as RTP payloads have it.
    """
    offset = 0
    while offset < len(data):
        obu, offset = read_obu(data, offset)
        yield obu


def read_obu(data: bytes, offset: int = 0) -> tuple[Obu, int]:
    """The unit at offset and the offset behind it (5.3). Raises RemoteError."""
    start = offset
    header, offset = _byte(data, offset), offset + 1
    if header & 0x80:
        raise RemoteError(f"OBU at byte {start}: the forbidden bit is set")
    temporal_id = spatial_id = None
    if header & _EXTENSION_FLAG:
        extension, offset = _byte(data, offset), offset + 1
        temporal_id, spatial_id = extension >> 5, extension >> 3 & 3
    end = len(data)
    if header & _SIZE_FLAG:
        size, offset = read_leb128(data, offset)
        end = offset + size
    if end > len(data):
        raise RemoteError(f"OBU at byte {start} ends at {end} of {len(data)}")
    obu = Obu(
        type=header >> 3 & 0xF,
        payload=bytes(data[offset:end]),
        temporal_id=temporal_id,
        spatial_id=spatial_id,
    )
    return obu, end


def write_obu(obu: Obu, *, has_size: bool = True) -> bytes:
    """The unit's bytes, with or without its size field. Raises LocalError for illegal fields."""
    if not 0 <= obu.type <= 15:
        raise LocalError(f"obu_type {obu.type} is outside 0..15")
    extended = obu.temporal_id is not None or obu.spatial_id is not None
    header = bytearray([obu.type << 3 | extended * _EXTENSION_FLAG | has_size * _SIZE_FLAG])
    if extended:
        temporal_id, spatial_id = obu.temporal_id or 0, obu.spatial_id or 0
        if not (0 <= temporal_id <= 7 and 0 <= spatial_id <= 3):
            raise LocalError(f"layer T{temporal_id} S{spatial_id} is outside T0..T7, S0..S3")
        header.append(temporal_id << 5 | spatial_id << 3)
    if has_size:
        header += write_leb128(len(obu.payload))
    return bytes(header) + obu.payload


def write_obus(obus: Iterable[Obu]) -> bytes:
    """A temporal unit in the low-overhead format: every unit with its size field."""
    return b"".join(write_obu(obu) for obu in obus)


def _byte(data: bytes, offset: int) -> int:
    if offset >= len(data):
        raise RemoteError(f"OBU header cut off at byte {offset}")
    return data[offset]
