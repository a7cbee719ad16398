"""Reads AV1's frame header as far as the base quantizer (AV1 specification, 5.9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from .bits import BitReader
from .errors import RemoteError
from .sequence_header import SELECT, SequenceHeader
from .tile_info import read_tile_counts_log2

Size = tuple[int, int]

PRIMARY_REF_NONE = 7
_ALL_SLOTS = 0xFF
_SLOTS = 8
_REFS_PER_FRAME = 7
_SUPERRES_NUM, _SUPERRES_DENOM_MIN = 8, 9
_LONGEST_BYTES = 512
"""Ours: above what the fields up to the quantizer can take (tile sizes and removal times: 250)."""


class FrameType(IntEnum):
    """frame_type (6.8.2)."""

    KEY = 0
    INTER = 1
    INTRA_ONLY = 2
    SWITCH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameHeader:
    """One frame's header. With show_existing, the slot that is shown, the rest means nothing.

    width and height are the frame's size in px, None where the header takes them from a slot of
    unknown size: found_ref then is the index (0..6, LAST..ALTREF) of the name of that slot.
    """

    show_existing: int | None = None
    frame_type: FrameType
    show_frame: bool = True
    error_resilient: bool = False
    primary_ref: int = PRIMARY_REF_NONE
    refresh: int = 0
    """refresh_frame_flags: bit n is set when slot n is overwritten."""
    reads: tuple[int, ...] = ()
    """Slots of LAST..ALTREF; empty for intra frames and short signaling."""
    found_ref: int | None = None
    width: int | None = None
    height: int | None = None
    screen_content_tools: bool = False
    intrabc: bool = False
    quantizer: int | None = None
    """base_q_idx, 0..255; None when the size is unknown."""


def read_frame_header(
    payload: bytes,
    sequence: SequenceHeader,
    *,
    slot_sizes: Sequence[Size | None] = (None,) * _SLOTS,
    temporal_id: int = 0,
    spatial_id: int = 0,
) -> FrameHeader:
    """Read the payload of a FRAME or FRAME_HEADER OBU. Raises RemoteError.

    slot_sizes are the (width, height) held in the eight slots, for headers that take their size
    from one; the layer ids are those of the OBU's extension, 0 without one.
    """
    reader = _Reader(
        payload[:_LONGEST_BYTES],
        sequence,
        slot_sizes=slot_sizes,
        layers=(temporal_id, spatial_id),
    )
    return reader.read()


class _Reader:
    """uncompressed_header (5.9.2): one method a part, in the order of the bits."""

    def __init__(
        self,
        payload: bytes,
        sequence: SequenceHeader,
        *,
        slot_sizes: Sequence[Size | None],
        layers: tuple[int, int],
    ) -> None:
        self._bits = BitReader(payload)
        self._sequence = sequence
        self._slot_sizes = slot_sizes
        self._layers = layers
        self._type = FrameType.KEY
        self._show = self._resilient = True
        self._disable_cdf_update = self._screen = self._integer_mv = self._intrabc = False
        self._size_override = False
        self._primary = PRIMARY_REF_NONE
        self._refresh = _ALL_SLOTS
        self._reads: tuple[int, ...] = ()
        self._found_ref: int | None = None
        self._size: Size | None = None
        self._coded_width = 0

    def read(self) -> FrameHeader:
        if not self._sequence.reduced:
            if self._bits.flag():  # show_existing_frame
                return FrameHeader(show_existing=self._bits.read(3), frame_type=FrameType.INTER)
            self._read_type()
        self._read_tools()
        self._read_ids()
        self._read_removal_times()
        self._read_refresh()
        if self._intra:
            self._read_frame_size()
            self._read_render_size()
            unscaled = self._size is not None and self._coded_width == self._size[0]
            self._intrabc = self._screen and unscaled and self._bits.flag()
        else:
            self._read_references()
            self._read_inter_size()
        return self._header(quantizer=None if self._size is None else self._read_quantizer())

    @property
    def _intra(self) -> bool:
        return self._type in (FrameType.KEY, FrameType.INTRA_ONLY)

    def _header(self, *, quantizer: int | None) -> FrameHeader:
        return FrameHeader(
            frame_type=self._type,
            show_frame=self._show,
            error_resilient=self._resilient,
            primary_ref=self._primary,
            refresh=self._refresh,
            reads=self._reads,
            found_ref=self._found_ref,
            width=None if self._size is None else self._size[0],
            height=None if self._size is None else self._size[1],
            screen_content_tools=self._screen,
            intrabc=self._intrabc,
            quantizer=quantizer,
        )

    def _read_type(self) -> None:
        bits, model = self._bits, self._sequence.decoder_model
        self._type, self._show = FrameType(bits.read(2)), bits.flag()
        if self._show and model is not None and not self._sequence.equal_picture_interval:
            bits.read(model.presentation_time_bits)
        if not self._show:
            bits.flag()  # showable_frame
        implied = self._type is FrameType.SWITCH or (self._type is FrameType.KEY and self._show)
        self._resilient = implied or bits.flag()

    def _read_tools(self) -> None:
        bits, sequence = self._bits, self._sequence
        self._disable_cdf_update = bits.flag()
        tools = sequence.screen_content_tools
        self._screen = bits.flag() if tools == SELECT else bool(tools)
        if self._screen:
            mv = sequence.integer_mv
            self._integer_mv = bits.flag() if mv == SELECT else bool(mv)

    def _read_ids(self) -> None:
        bits, sequence = self._bits, self._sequence
        bits.read(sequence.frame_id_bits)
        if self._type is FrameType.SWITCH:
            self._size_override = True
        elif not sequence.reduced:
            self._size_override = bits.flag()
        bits.read(sequence.order_hint_bits)
        if not (self._intra or self._resilient):
            self._primary = bits.read(3)

    def _read_removal_times(self) -> None:
        bits, model = self._bits, self._sequence.decoder_model
        if model is None or not bits.flag():  # buffer_removal_time_present_flag
            return
        temporal_id, spatial_id = self._layers
        for point in self._sequence.operating_points:
            inside = point.idc >> temporal_id & 1 and point.idc >> (spatial_id + 8) & 1
            if point.decoder_model and (point.idc == 0 or inside):
                bits.read(model.removal_time_bits)

    def _read_refresh(self) -> None:
        bits = self._bits
        if not (self._type is FrameType.SWITCH or (self._type is FrameType.KEY and self._show)):
            self._refresh = bits.read(8)
        if self._type is FrameType.INTRA_ONLY and self._refresh == _ALL_SLOTS:
            raise RemoteError("an intra-only frame must not overwrite every slot (6.8.2)")
        if self._resilient and (not self._intra or self._refresh != _ALL_SLOTS):
            bits.read(_SLOTS * self._sequence.order_hint_bits)  # ref_order_hint[]

    def _read_references(self) -> None:
        bits, sequence = self._bits, self._sequence
        short = bool(sequence.order_hint_bits) and bits.flag()  # frame_refs_short_signaling
        if short:
            bits.read(6)  # last_frame_idx, gold_frame_idx
        reads: list[int] = []
        for _ in range(_REFS_PER_FRAME):
            if not short:
                reads.append(bits.read(3))
            bits.read(sequence.delta_frame_id_bits)
        self._reads = tuple(reads)

    def _read_inter_size(self) -> None:
        if self._size_override and not self._resilient:
            self._read_size_with_refs()
        else:
            self._read_frame_size()
            self._read_render_size()
        if self._size is not None:
            self._read_inter_tools()

    def _read_size_with_refs(self) -> None:
        """frame_size_with_refs (5.9.7)."""
        for index in range(_REFS_PER_FRAME):
            if self._bits.flag():
                self._found_ref = index
                held = self._slot_sizes[self._reads[index]] if self._reads else None
                if held is not None:
                    self._set_size(held)
                return
        self._read_frame_size()
        self._read_render_size()

    def _read_inter_tools(self) -> None:
        bits = self._bits
        if not self._integer_mv:
            bits.flag()  # allow_high_precision_mv
        if not bits.flag():  # is_filter_switchable
            bits.read(2)
        bits.flag()  # is_motion_mode_switchable
        if not self._resilient and self._sequence.ref_frame_mvs:
            bits.flag()  # use_ref_frame_mvs

    def _read_frame_size(self) -> None:
        sequence, bits = self._sequence, self._bits
        size = (sequence.max_width, sequence.max_height)
        if self._size_override:
            width = bits.read(sequence.width_bits) + 1
            size = (width, bits.read(sequence.height_bits) + 1)
        self._set_size(size)

    def _set_size(self, size: Size) -> None:
        """The size, and superres_params (5.9.8), which follow it wherever it comes from."""
        self._size, self._coded_width = size, size[0]
        if self._sequence.superres and self._bits.flag():
            denominator = self._bits.read(3) + _SUPERRES_DENOM_MIN
            self._coded_width = (size[0] * _SUPERRES_NUM + denominator // 2) // denominator

    def _read_render_size(self) -> None:
        if self._bits.flag():  # render_and_frame_size_different
            self._bits.read(32)

    def _read_quantizer(self) -> int:
        assert self._size is not None
        if not (self._sequence.reduced or self._disable_cdf_update):
            self._bits.flag()  # disable_frame_end_update_cdf
        read_tile_counts_log2(
            self._bits,
            width=self._coded_width,
            height=self._size[1],
            superblock_128=self._sequence.superblock_128,
        )
        return self._bits.read(8)
