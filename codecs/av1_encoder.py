"""The AV1 encoder: executes one EncodeRequest a call on libaom, and decides nothing.

Any call may be another try at the same picture: libaom's own time only counts calls, and the
caller sends the last try alone. The encoder knows the size of what each slot holds, tries that were
not sent included, because AV1 limits the sizes that a frame may predict from.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction

from .av1_presets import PRESETS, Av1Preset, frame_controls, frame_scale, sequence_controls
from .errors import LocalError
from .libaom import find_libaom
from .libaom_context import SCALE_MODES, AomContext, Control, FrameFlag
from .slot_book import SLOTS
from .types import FULL_SIZE, Codec, Content, EncodedFrame, EncodeRequest, Picture

Size = tuple[int, int]

MAX_SIDE_PX = 65536
"""frame_width_bits_minus_1 has 4 bits (AV1 specification, 5.5.1)."""
_SHRINK, _GROW = 2, 16
"""How much smaller and larger than a reference a frame may be, per side (AV1, 7.11.3.3)."""
_NAMES_BY_USE = (0, 3, 6, 1, 2, 4, 5)
"""Indices of LAST, GOLDEN, ALTREF, LAST2, LAST3, BWDREF, ALTREF2: libaom's real-time mode searches
the first three (svc_encoder_rtc.c uses no others)."""
_MIN_TILE_WIDTH_PX = 256
"""Ours: narrower tiles lose more bits than a second thread gains."""


class Av1Encoder:
    """A VideoEncoder on libaom.

    width and height are the picture size in px it is opened for; a key frame with a picture of
    another size opens it anew. threads are libaom's own, beside the caller's: with more than one,
    encode_cpu_us counts the calling thread alone. Use from one thread at a time.
    """

    codec = Codec.AV1
    can_retry = True

    def __init__(
        self,
        *,
        width: int,
        height: int,
        threads: int = 1,
        presets: Mapping[str, Av1Preset] = PRESETS,
    ) -> None:
        if not (1 <= width <= MAX_SIDE_PX and 1 <= height <= MAX_SIDE_PX):
            raise LocalError(f"picture size {width}x{height} is outside 1..{MAX_SIDE_PX} a side")
        if not 1 <= threads <= 64:
            raise LocalError(f"threads {threads} is outside 1..64")
        self._aom = find_libaom()
        self.implementation = f"libaom {self._aom.version}"
        self._size: Size = (width, height)
        self._threads = threads
        self._presets = presets
        self._context: AomContext | None = None
        self._closed = False
        self._sequence: dict[Control, int] = {}
        self._controls: Mapping[Control, int] = {}
        self._applied: tuple[str, Content, bool, bool] | None = None
        self._last_frame_id: int | None = None
        self._slots: list[Size | None] = [None] * SLOTS

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        """Encode one try. Raises LocalError, before touching any slot, for an illegal request."""
        wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        context = self._context_for(request)
        preset = self._preset(request.preset)
        scale = frame_scale(preset, content=request.content, asked=request.scale)
        size = coded_size(request.picture, scale=scale)
        flags = self._flags(request, size=size)
        self._apply_controls(context, request)
        if scale != FULL_SIZE:
            context.set_scale(scale)
        names, used = _map_names(request)
        writes = range(SLOTS) if request.key else request.writes
        context.set_references(names=names, used=used, writes=writes)
        context.set(Control.QUANTIZER_ONE_PASS, request.quantizer)
        data = context.encode(request.picture, flags=flags)
        for slot in writes:
            self._slots[slot] = size
        return EncodedFrame(
            data=data,
            codec=self.codec,
            frame_id=request.frame_id,
            capture_us=request.picture.capture_us,
            key=request.key,
            quantizer=request.quantizer,
            temporal_id=request.temporal_id,
            dependencies=request.dependencies,
            ltr_slot=request.ltr_slot,
            width=size[0],
            height=size[1],
            encode_us=(time.perf_counter_ns() - wall_ns) // 1000,
            encode_cpu_us=(time.thread_time_ns() - cpu_ns) // 1000,
        )

    def reconstruction(self) -> Picture:
        """A copy of the last frame as a decoder shows it, at its coded size.

        For a frame that writes no slot libaom skips its own post-filters: not what is decoded then.
        """
        if self._context is None:
            raise LocalError("no frame was encoded yet, or the encoder is closed")
        return self._context.reconstruction()

    def close(self) -> None:
        """Free libaom's memory. May be called twice."""
        self._closed = True
        if self._context is not None:
            self._context.close()
            self._context = None

    def _context_for(self, request: EncodeRequest) -> AomContext:
        """The open context, opened anew where a key frame brings a new size or sequence header."""
        if self._closed:
            raise LocalError("the encoder is closed")
        size = (request.picture.width, request.picture.height)
        if self._context is not None and not request.key:
            if size != self._size:
                raise LocalError(
                    f"picture {size[0]}x{size[1]} where {self._size[0]}x{self._size[1]} is open: "
                    "a new picture size needs a key frame"
                )
            return self._context
        sequence = sequence_controls(self._preset(request.preset))
        if self._context is None or size != self._size or sequence != self._sequence:
            self._reopen(size=size, sequence=sequence)
        assert self._context is not None
        return self._context

    def _reopen(self, *, size: Size, sequence: dict[Control, int]) -> None:
        context = AomContext(self._aom, width=size[0], height=size[1], threads=self._threads)
        if self._context is not None:
            self._context.close()
        self._context, self._size, self._sequence = context, size, sequence
        self._controls, self._applied = {}, None
        self._slots = [None] * SLOTS
        for control, value in sequence.items():
            context.set(control, value)
        columns = min(self._threads, size[0] // _MIN_TILE_WIDTH_PX)
        context.set(Control.TILE_COLUMNS, max(columns, 1).bit_length() - 1)

    def _preset(self, name: str) -> Av1Preset:
        if name not in self._presets:
            raise LocalError(f"preset {name!r} is none of {', '.join(self._presets)}")
        return self._presets[name]

    def _apply_controls(self, context: AomContext, request: EncodeRequest) -> None:
        anchor = request.key or request.ltr_slot is not None
        again = request.frame_id == self._last_frame_id
        self._last_frame_id = request.frame_id
        state = (request.preset, request.content, anchor, again)
        if self._applied == state:
            return
        preset = self._preset(request.preset)
        wanted = frame_controls(preset, content=request.content, anchor=anchor, again=again)
        for control, value in wanted.items():
            if self._controls.get(control) != value:
                context.set(control, value)
        self._controls, self._applied = wanted, state

    def _flags(self, request: EncodeRequest, *, size: Size) -> FrameFlag:
        if request.key:
            return FrameFlag.FORCE_KEY
        for slot in request.reads:
            self._check_reference(slot, size=size)
        # Else the header would take the size from whichever slot holds it at the encoder
        # (found_ref, AV1 5.9.7), which after a try that was not sent is another at the decoder.
        resized = self._slots[request.reads[0]] != size
        return FrameFlag.ERROR_RESILIENT if resized else FrameFlag(0)

    def _check_reference(self, slot: int, *, size: Size) -> None:
        held = self._slots[slot]
        if held is None:
            raise LocalError(f"slot {slot} holds no frame yet: begin with a key frame")
        if any(n * _SHRINK < h or n > h * _GROW for n, h in zip(size, held, strict=True)):
            raise LocalError(
                f"coded size {size[0]}x{size[1]} against {held[0]}x{held[1]} in slot {slot}: "
                f"at most {_SHRINK}x smaller and {_GROW}x larger a side"
            )


def coded_size(picture: Picture, *, scale: Fraction) -> Size:
    """Width and height in px that a picture is coded at. Raises LocalError for other fractions."""
    if scale not in SCALE_MODES:
        raise LocalError(f"scale {scale} is none of {', '.join(map(str, SCALE_MODES))}")
    up = scale.denominator - 1
    width = (up + picture.width * scale.numerator) // scale.denominator
    height = (up + picture.height * scale.numerator) // scale.denominator
    return width, height


def _map_names(request: EncodeRequest) -> tuple[list[int], list[bool]]:
    """Slots and use of the seven names. Written slots need a name; spare names repeat LAST.

    Key frames must be given a map too: after one without, libaom (3.13.1 and 3.14.1) crashes on the
    first frame that reads slot 7.
    """
    if request.key:
        return list(range(len(_NAMES_BY_USE))), [False] * len(_NAMES_BY_USE)
    reads = list(dict.fromkeys(request.reads))
    slots = reads + [slot for slot in dict.fromkeys(request.writes) if slot not in reads]
    if len(slots) > len(_NAMES_BY_USE):
        raise LocalError(f"a frame names at most 7 slots; reads and writes name {len(slots)}")
    names, used = [reads[0]] * 7, [False] * 7
    for position, (name, slot) in enumerate(zip(_NAMES_BY_USE, slots, strict=False)):
        names[name], used[name] = slot, position < len(reads)
    return names, used
