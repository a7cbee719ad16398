"""A reader of H.264 NAL units: Annex B framing, headers and the sequence parameter set.

Sections are those of ITU-T H.264 (08/2021). Every malformed input is a RemoteError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from .bits import BitReader
from .errors import RemoteError

# B.1: three bytes; a fourth zero before them belongs to the byte stream, not to a NAL unit.
_START_CODE = re.compile(rb"\x00\x00\x01")
_EMULATION_PREVENTION = re.compile(rb"\x00\x00\x03")

MAX_SIDE_MBS = 1055  # A.3.1: sqrt(8 x MaxFS) of level 6.2, the highest
CHROMA_PROFILES = frozenset({100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135})
"""profile_idc values whose SPS has the chroma_format_idc part (7.3.2.1.1)."""


class NalType(IntEnum):
    """nal_unit_type values that calls meet (table 7-1; STAP-A and FU-A are RFC 6184's)."""

    SLICE = 1
    IDR = 5
    SEI = 6
    SPS = 7
    PPS = 8
    DELIMITER = 9
    STAP_A = 24
    FU_A = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class NalHeader:
    """The first byte of a NAL unit (7.3.1)."""

    nal_type: int
    ref_idc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sps:
    """What a call needs of a sequence parameter set; the size is the cropped one, in pixels."""

    profile_idc: int
    constraint_flags: int
    level_idc: int
    sps_id: int
    width: int
    height: int


def split_annex_b(data: bytes) -> list[bytes]:
    """The NAL units of a byte stream, without start codes and trailing zeros (B.1).

    Raises RemoteError when there is none or something else comes before the first start code.
    """
    starts = [match.start() for match in _START_CODE.finditer(data)]
    if not starts or data[: starts[0]].strip(b"\0"):
        raise RemoteError("no Annex B start code where the byte stream begins")
    ends = [*starts[1:], len(data)]
    units = [data[a + 3 : b].rstrip(b"\0") for a, b in zip(starts, ends, strict=True)]
    if not all(units):
        raise RemoteError("an empty NAL unit")
    return units


def nal_types(data: bytes) -> frozenset[int]:
    """The types of the NAL units of an Annex B byte stream; none for what is no such stream."""
    return frozenset(
        data[match.end()] & 0x1F for match in _START_CODE.finditer(data) if match.end() < len(data)
    )


def parse_header(unit: bytes) -> NalHeader:
    """The header of a NAL unit. Raises RemoteError when it is empty or its forbidden bit is set."""
    if not unit:
        raise RemoteError("an empty NAL unit")
    if unit[0] & 0x80:
        raise RemoteError("forbidden_zero_bit is set")
    return NalHeader(nal_type=unit[0] & 0x1F, ref_idc=unit[0] >> 5)


def parse_sps(unit: bytes) -> Sps:
    """Read a sequence parameter set with its header byte (7.3.2.1.1). Raises RemoteError."""
    if parse_header(unit).nal_type != NalType.SPS:
        raise RemoteError(f"NAL type {unit[0] & 0x1F} is no sequence parameter set")
    if len(unit) < 5:
        raise RemoteError("a sequence parameter set of less than 5 bytes")
    bits = _BitReader(rbsp(unit[4:]))
    sps_id = bits.unsigned(limit=31)
    chroma_format = _skip_chroma_part(bits) if unit[1] in CHROMA_PROFILES else 1
    _skip_reference_part(bits)
    width, height = _cropped_size(bits, chroma_format)
    return Sps(
        profile_idc=unit[1],
        constraint_flags=unit[2],
        level_idc=unit[3],
        sps_id=sps_id,
        width=width,
        height=height,
    )


def rbsp(payload: bytes) -> bytes:
    """The payload without its emulation prevention bytes (7.4.1.1)."""
    return _EMULATION_PREVENTION.sub(b"\0\0", payload)


class _BitReader(BitReader):
    """With the Exp-Golomb codes (9.1)."""

    def unsigned(self, *, limit: int) -> int:
        """ue(v) of at most limit, which is below 2^32 - 1."""
        value = self.uvlc()
        if value > limit:
            raise RemoteError(f"a value of {value} where at most {limit} is legal")
        return value

    def signed(self) -> int:
        """se(v)."""
        code = self.unsigned(limit=(1 << 32) - 2)
        return (code + 1) // 2 if code % 2 else -(code // 2)


def _skip_chroma_part(bits: _BitReader) -> int:
    """Up to the scaling matrices; returns chroma_format_idc, 0 where colour planes are separate."""
    chroma_format = bits.unsigned(limit=3)
    separate_planes = chroma_format == 3 and bits.flag()
    bits.unsigned(limit=6)  # bit_depth_luma_minus8
    bits.unsigned(limit=6)  # bit_depth_chroma_minus8
    bits.flag()  # qpprime_y_zero_transform_bypass_flag
    if bits.flag():
        for index in range(12 if chroma_format == 3 else 8):
            if bits.flag():
                _skip_scaling_list(bits, 16 if index < 6 else 64)
    return 0 if separate_planes else chroma_format


def _skip_scaling_list(bits: _BitReader, size: int) -> None:
    """7.3.2.1.1.1."""
    last = following = 8
    for _ in range(size):
        if following:
            following = (last + bits.signed()) % 256
        last = following or last


def _skip_reference_part(bits: _BitReader) -> None:
    bits.unsigned(limit=12)  # log2_max_frame_num_minus4
    order_type = bits.unsigned(limit=2)
    if order_type == 0:
        bits.unsigned(limit=12)  # log2_max_pic_order_cnt_lsb_minus4
    elif order_type == 1:
        bits.flag()
        bits.signed()
        bits.signed()
        for _ in range(bits.unsigned(limit=255)):
            bits.signed()
    bits.unsigned(limit=16)  # max_num_ref_frames
    bits.flag()  # gaps_in_frame_num_value_allowed_flag


def _cropped_size(bits: _BitReader, chroma_format: int) -> tuple[int, int]:
    """Equations 7-13 to 7-22."""
    width = 16 * (1 + bits.unsigned(limit=MAX_SIDE_MBS - 1))
    map_units = 1 + bits.unsigned(limit=MAX_SIDE_MBS - 1)
    frames_only = bits.flag()
    height = 16 * map_units * (1 if frames_only else 2)
    if not frames_only:
        bits.flag()  # mb_adaptive_frame_field_flag
    bits.flag()  # direct_8x8_inference_flag
    if bits.flag():
        unit_x = 2 if chroma_format in (1, 2) else 1
        unit_y = (2 if chroma_format == 1 else 1) * (1 if frames_only else 2)
        left, right, top, bottom = (bits.unsigned(limit=1 << 16) for _ in range(4))
        width -= unit_x * (left + right)
        height -= unit_y * (top + bottom)
    if width <= 0 or height <= 0:
        raise RemoteError("the cropping leaves no picture")
    return width, height
