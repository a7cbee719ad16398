"""Reads AV1's sequence header (AV1 specification, 5.5)."""

from __future__ import annotations

from dataclasses import dataclass

from .bits import BitReader
from .errors import RemoteError

SELECT = 2
"""SELECT_SCREEN_CONTENT_TOOLS and SELECT_INTEGER_MV (section 3): each frame says."""
_CP_BT709, _TC_SRGB, _MC_IDENTITY = 1, 13, 0
_CP_UNSPECIFIED = _TC_UNSPECIFIED = _MC_UNSPECIFIED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderModel:
    """Field widths that timing information brings to frame headers (5.5.4)."""

    removal_time_bits: int
    presentation_time_bits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingPoint:
    """One operating point (5.5.1): idc tells its layers, level seq_level_idx, tier seq_tier."""

    idc: int
    level: int
    tier: int
    decoder_model: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ColorConfig:
    """color_config (5.5.2). The last three are CICP numbers."""

    bit_depth: int
    monochrome: bool
    subsampling_x: int
    subsampling_y: int
    full_range: bool
    primaries: int
    transfer: int
    matrix: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceHeader:
    """What a reader of frame headers needs, and what a call wants to know. Sizes in px."""

    profile: int
    still_picture: bool
    reduced: bool
    max_width: int
    max_height: int
    width_bits: int
    height_bits: int
    operating_points: tuple[OperatingPoint, ...]
    equal_picture_interval: bool
    decoder_model: DecoderModel | None
    frame_id_bits: int
    """0 when frames carry no frame ids."""
    delta_frame_id_bits: int
    superblock_128: bool
    filter_intra: bool
    order_hint_bits: int
    """0 when order hints are off."""
    ref_frame_mvs: bool
    screen_content_tools: int
    integer_mv: int
    superres: bool
    cdef: bool
    restoration: bool
    film_grain: bool
    color: ColorConfig


def read_sequence_header(payload: bytes) -> SequenceHeader:
    """Read a sequence header OBU's payload. Raises RemoteError."""
    bits = BitReader(payload)
    profile = bits.read(3)
    if profile > 2:
        raise RemoteError(f"seq_profile {profile} is reserved")
    still, reduced = bits.flag(), bits.flag()
    if reduced:
        point = OperatingPoint(idc=0, level=bits.read(5), tier=0, decoder_model=False)
        timing = _Timing(points=(point,), equal_interval=False, decoder_model=None)
    else:
        timing = _timing_and_points(bits)
    width_bits, height_bits = bits.read(4) + 1, bits.read(4) + 1
    max_width, max_height = bits.read(width_bits) + 1, bits.read(height_bits) + 1
    id_bits, delta_bits = (0, 0) if reduced else _frame_id_bits(bits)
    superblock_128, filter_intra, _intra_edge = bits.flag(), bits.flag(), bits.flag()
    tools = _reduced_tools() if reduced else _inter_tools(bits)
    superres, cdef, restoration = bits.flag(), bits.flag(), bits.flag()
    color = _color_config(bits, profile=profile)
    return SequenceHeader(
        profile=profile,
        still_picture=still,
        reduced=reduced,
        max_width=max_width,
        max_height=max_height,
        width_bits=width_bits,
        height_bits=height_bits,
        operating_points=timing.points,
        equal_picture_interval=timing.equal_interval,
        decoder_model=timing.decoder_model,
        frame_id_bits=id_bits,
        delta_frame_id_bits=delta_bits,
        superblock_128=superblock_128,
        filter_intra=filter_intra,
        order_hint_bits=tools.order_hint_bits,
        ref_frame_mvs=tools.ref_frame_mvs,
        screen_content_tools=tools.screen_content_tools,
        integer_mv=tools.integer_mv,
        superres=superres,
        cdef=cdef,
        restoration=restoration,
        film_grain=bits.flag(),
        color=color,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timing:
    points: tuple[OperatingPoint, ...]
    equal_interval: bool
    decoder_model: DecoderModel | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _InterTools:
    order_hint_bits: int
    ref_frame_mvs: bool
    screen_content_tools: int
    integer_mv: int


def _timing_and_points(bits: BitReader) -> _Timing:
    equal_interval, model, delay_bits = False, None, 0
    if bits.flag():  # timing_info_present_flag
        bits.read(32)
        bits.read(32)
        equal_interval = bits.flag()
        if equal_interval:
            bits.uvlc()
        if bits.flag():  # decoder_model_info_present_flag
            delay_bits = bits.read(5) + 1
            bits.read(32)
            model = DecoderModel(
                removal_time_bits=bits.read(5) + 1, presentation_time_bits=bits.read(5) + 1
            )
    initial_delay = bits.flag()
    count = bits.read(5) + 1
    points = tuple(
        _operating_point(bits, delay_bits=delay_bits, initial_delay=initial_delay)
        for _ in range(count)
    )
    return _Timing(points=points, equal_interval=equal_interval, decoder_model=model)


def _operating_point(bits: BitReader, *, delay_bits: int, initial_delay: bool) -> OperatingPoint:
    idc, level = bits.read(12), bits.read(5)
    tier = bits.read(1) if level > 7 else 0
    decoder_model = bool(delay_bits) and bits.flag()
    if decoder_model:
        bits.read(delay_bits)
        bits.read(delay_bits)
        bits.flag()
    if initial_delay and bits.flag():
        bits.read(4)
    return OperatingPoint(idc=idc, level=level, tier=tier, decoder_model=decoder_model)


def _frame_id_bits(bits: BitReader) -> tuple[int, int]:
    if not bits.flag():
        return 0, 0
    delta = bits.read(4) + 2
    return bits.read(3) + delta + 1, delta


def _reduced_tools() -> _InterTools:
    return _InterTools(
        order_hint_bits=0, ref_frame_mvs=False, screen_content_tools=SELECT, integer_mv=SELECT
    )


def _inter_tools(bits: BitReader) -> _InterTools:
    bits.read(4)  # interintra, masked compound, warped motion, dual filter
    order_hint = bits.flag()
    ref_frame_mvs = False
    if order_hint:
        bits.flag()  # enable_jnt_comp
        ref_frame_mvs = bits.flag()
    screen = SELECT if bits.flag() else bits.read(1)
    integer_mv = SELECT
    if screen > 0:
        integer_mv = SELECT if bits.flag() else bits.read(1)
    return _InterTools(
        order_hint_bits=bits.read(3) + 1 if order_hint else 0,
        ref_frame_mvs=ref_frame_mvs,
        screen_content_tools=screen,
        integer_mv=integer_mv,
    )


def _color_config(bits: BitReader, *, profile: int) -> ColorConfig:
    high = bits.flag()
    depth = (12 if bits.flag() else 10) if profile == 2 and high else 10 if high else 8
    monochrome = profile != 1 and bits.flag()
    codes = (_CP_UNSPECIFIED, _TC_UNSPECIFIED, _MC_UNSPECIFIED)
    if bits.flag():  # color_description_present_flag
        codes = (bits.read(8), bits.read(8), bits.read(8))
    if monochrome:
        full_range, sub_x, sub_y = bits.flag(), 1, 1
    elif codes == (_CP_BT709, _TC_SRGB, _MC_IDENTITY):
        full_range, sub_x, sub_y = True, 0, 0
        bits.flag()  # separate_uv_delta_q
    else:
        full_range = bits.flag()
        sub_x, sub_y = _subsampling(bits, profile=profile, depth=depth)
        if sub_x and sub_y:
            bits.read(2)  # chroma_sample_position
        bits.flag()  # separate_uv_delta_q
    return ColorConfig(
        bit_depth=depth,
        monochrome=monochrome,
        subsampling_x=sub_x,
        subsampling_y=sub_y,
        full_range=full_range,
        primaries=codes[0],
        transfer=codes[1],
        matrix=codes[2],
    )


def _subsampling(bits: BitReader, *, profile: int, depth: int) -> tuple[int, int]:
    if profile == 0:
        return 1, 1
    if profile == 1:
        return 0, 0
    if depth < 12:
        return 1, 0
    x = bits.read(1)
    return x, bits.read(1) if x else 0
