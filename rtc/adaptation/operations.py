"""Every way to code a stream that there is to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from ...codecs.av1_presets import PRESETS, frame_scale
from ...codecs.errors import LocalError
from ...codecs.types import FULL_SIZE, Codec, Content
from ...ratecontrol.ladder import legal_scales
from .operation import DEFAULT_PRESET, Operation

AUTO = "auto"
"""In place of a preset's name: any."""
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
SCALES = (FULL_SIZE, HALF, QUARTER)
# Ours: ten pictures of thirty still move; fewer are a slide show.
EVERIES = (1, 2, 3)
ROWS = tuple(PRESETS)
"""AV1's presets, fastest first."""


def is_spare(operation: Operation) -> bool:
    """Whether it codes better than the default preset, which is for spare time."""
    return ROWS.index(operation.preset) > ROWS.index(DEFAULT_PRESET)


def nearest_scale(coded_px: int, picture_px: int) -> Fraction:
    """Which of the scales a coded side is of a picture's; encoders round."""
    return min(SCALES, key=lambda scale: abs(coded_px - float(scale) * picture_px))


def codable_scale(codec: Codec, scale: Fraction, *, size: tuple[int, int]) -> Fraction:
    """What pictures of this width and height are coded at where scale is asked: AV1's have a least size."""
    return scale if codec is Codec.H264 else max(scale, legal_scales(*size, frozenset())[-1])


def codable(
    options: Sequence[Operation], *, size: tuple[int, int], used: Operation
) -> Sequence[Operation]:
    """Those that pictures of this size can be coded as, and the one in use; of a codec without any, all."""
    least = legal_scales(*size, frozenset())[-1]
    if least <= SCALES[-1]:
        return options
    codecs = {o.codec for o in options if o.codec is Codec.H264 or o.scale >= least}
    return [
        o
        for o in options
        if o.codec is Codec.H264 or o.scale >= least or o.codec not in codecs or o == used
    ]


def checked_scale(scale: Fraction | float | None) -> Fraction | None:
    """A fraction of the pictures' size; None for none. Raises LocalError outside (0, 1]."""
    if scale is None:
        return None
    if not 0 < scale <= 1:
        raise LocalError(f"scale {scale} is outside (0, 1]")
    return Fraction(scale)


def checked_preset(preset: str) -> str:
    """The name of a preset, or "auto". Raises LocalError for another."""
    if preset != AUTO and preset not in PRESETS:
        raise LocalError(f"preset {preset!r} is none of {AUTO}, {', '.join(ROWS)}")
    return preset


def as_set(
    codec: Codec, preset: str, *, content: Content, scale: Fraction | None = None
) -> Operation:
    """The codec with this preset ("auto": the default) and scale, as it is without any adaptation."""
    asked = FULL_SIZE if scale is None else scale
    if codec is Codec.H264:
        return Operation(codec=codec, scale=asked)
    row = DEFAULT_PRESET if preset == AUTO else preset
    scale = frame_scale(PRESETS[row], content=content, asked=asked)
    return Operation(codec=codec, preset=row, scale=scale)


def operations(
    codecs: Iterable[Codec],
    *,
    best: str,
    content: Content,
    preset: str | None = None,
    scale: Fraction | None = None,
) -> tuple[Operation, ...]:
    """All of these codecs with presets up to the best ("auto": every one).

    preset and scale fix those: what is left then is the others.
    """
    shapes: list[tuple[Codec, str, Fraction]] = []
    for codec in codecs:
        if codec is Codec.H264:
            shapes += [(codec, DEFAULT_PRESET, size) for size in _sizes(FULL_SIZE, scale)]
            continue
        rows = ROWS if best == AUTO else ROWS[: ROWS.index(best) + 1]
        for row in (preset,) if preset is not None else rows:
            largest = frame_scale(PRESETS[row], content=content, asked=FULL_SIZE)
            sizes = _sizes(largest, scale)
            # A smaller size of the other rows gains nothing over the fastest, which is made for that.
            is_enough = preset is None and scale is None and row != ROWS[0]
            shapes += [(codec, row, size) for size in (sizes[:1] if is_enough else sizes)]
    return tuple(
        Operation(codec=codec, preset=row, scale=size, every=every)
        for codec, row, size in shapes
        for every in EVERIES
    )


def _sizes(largest: Fraction, fixed: Fraction | None) -> list[Fraction]:
    if fixed is not None:
        return [min(fixed, largest)]
    return [size for size in SCALES if size <= largest]
