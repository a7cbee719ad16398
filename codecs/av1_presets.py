"""The AV1 encoder's presets: every libaom setting that trades bits against CPU time, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import MappingProxyType

from .libaom_context import Control
from .types import FULL_SIZE, Content


@dataclass(frozen=True, slots=True, kw_only=True)
class Av1Preset:
    """One row of the table. Values are libaom's own; the control's name stands with each.

    Those marked "sequence" are written into the sequence header, so they change at key frames only:
    a frame between key frames that names another preset takes the other settings alone. The rows of
    PRESETS share them, so there every preset acts in full from its first frame on.
    """

    speed: int
    """AOME_SET_CPUUSED, 5 (slow) to 11 (fast); 12 acts as 11."""
    anchor_speed: int
    """The same for key frames and long-term references: others are predicted from them for long."""
    largest_scale: Fraction = FULL_SIZE
    """Camera pictures are coded at no more than this fraction of their size (AOME_SET_SCALEMODE)."""
    aq_mode: int = 0
    """AV1E_SET_AQ_MODE: 0 off, 3 cyclic refresh. Cyclic refresh costs bits and CPU at once here."""
    cdef: int = 1
    """AV1E_SET_ENABLE_CDEF, sequence: 0 off, 1 on, 2 reference frames only, 3 adaptive."""
    loop_filter: int = 1
    """AV1E_SET_LOOPFILTER_CONTROL: 0 off, 1 all frames, 2 reference frames, 3 off at low motion."""
    order_hint: bool = False
    """AV1E_SET_ENABLE_ORDER_HINT, sequence. Off saves its bits; real time has no use for it."""
    cdf_update: int = 1
    """AV1E_SET_CDF_UPDATE_MODE: 0 never (costs 30 %), 1 every frame, 2 now and then."""
    filter_intra: bool = False
    """AV1E_SET_ENABLE_FILTER_INTRA, sequence."""
    smooth_intra: bool = False
    """AV1E_SET_ENABLE_SMOOTH_INTRA."""
    cfl_intra: bool = False
    """AV1E_SET_ENABLE_CFL_INTRA."""
    angle_delta: bool = False
    """AV1E_SET_ENABLE_ANGLE_DELTA."""
    reduced_transforms: bool = False
    """AV1E_SET_REDUCED_TX_TYPE_SET."""
    intra_default_transform: bool = True
    """AV1E_SET_INTRA_DEFAULT_TX_ONLY."""
    cost_update: int = 3
    """AV1E_SET_{COEFF,MODE,MV}_COST_UPD_FREQ: 0 superblock, 1 row, 2 tile, 3 off."""
    sharpness: int = 0
    """AOME_SET_SHARPNESS, 0..7."""
    noise_sensitivity: int = 0
    """AV1E_SET_NOISE_SENSITIVITY: 0 off, 1 denoises the source."""
    screen_palette: bool = True
    """AV1E_SET_ENABLE_PALETTE for screen content."""


PRESETS: Mapping[str, Av1Preset] = MappingProxyType(
    {
        "ultralow": Av1Preset(speed=11, anchor_speed=10, largest_scale=Fraction(1, 2)),
        "low": Av1Preset(speed=11, anchor_speed=11, loop_filter=0),
        "default": Av1Preset(speed=11, anchor_speed=10),
        "high": Av1Preset(speed=10, anchor_speed=7),
        "best": Av1Preset(speed=7, anchor_speed=7),
    }
)
"""Fastest first. What each costs and saves against x264 superfast: docs/presets.md."""

_FIXED: Mapping[Control, int] = MappingProxyType(
    {
        # Tools that cost CPU in real time for nothing, as libwebrtc's libaom_av1_encoder.cc has it.
        Control.ENABLE_OBMC: 0,
        Control.ENABLE_GLOBAL_MOTION: 0,
        Control.ENABLE_TPL_MODEL: 0,
        Control.DELTAQ_MODE: 0,
        Control.ROW_MT: 1,
    }
)
_FIXED_SEQUENCE: Mapping[Control, int] = MappingProxyType(
    {
        # 64x64. Left to itself libaom (3.13.1) takes 128 where both sides exceed 720, by the coded size: after a
        # first key frame at half of 1024x768 it overran its buffers with the first frame at full size.
        Control.SUPERBLOCK_SIZE: 0,
        Control.ENABLE_RESTORATION: 0,
        Control.ENABLE_WARPED_MOTION: 0,
        Control.ENABLE_REF_FRAME_MVS: 0,
    }
)
_FASTEST_ON_SCREENS = 10
"""Ours: on a scrolling document speed 11 takes 5 % more bits than 10 and no less CPU time."""
_FASTEST_AGAIN = 10
"""Ours: speed 11 skips what equals the picture before, which is all of a picture that is tried again:
such tries lost 1 to 5 dB where things moved, none at this speed."""
_TUNE = {Content.CAMERA: 0, Content.SCREEN: 1}
"""AOM_CONTENT_DEFAULT and AOM_CONTENT_SCREEN (aomcx.h)."""


def frame_scale(preset: Av1Preset, *, content: Content, asked: Fraction) -> Fraction:
    """The fraction to code a frame at. Screen content keeps its size: text does not survive less."""
    return asked if content is Content.SCREEN else min(asked, preset.largest_scale)


def sequence_controls(preset: Av1Preset) -> dict[Control, int]:
    """Controls that libaom writes into the sequence header: fixed between two key frames."""
    return {
        **_FIXED_SEQUENCE,
        Control.ENABLE_CDEF: preset.cdef,
        Control.ENABLE_ORDER_HINT: int(preset.order_hint),
        Control.ENABLE_FILTER_INTRA: int(preset.filter_intra),
    }


@cache
def frame_controls(
    preset: Av1Preset, *, content: Content, anchor: bool = False, again: bool = False
) -> Mapping[Control, int]:
    """Controls that may change before any frame.

    anchor for a key frame or long-term reference, again for another try at the same picture.
    """
    screen = content is Content.SCREEN
    speed = preset.anchor_speed if anchor else preset.speed
    speed = min(speed, _FASTEST_AGAIN) if again else speed
    controls = {
        **_FIXED,
        Control.SPEED: min(speed, _FASTEST_ON_SCREENS) if screen else speed,
        Control.AQ_MODE: preset.aq_mode,
        Control.LOOPFILTER_CONTROL: preset.loop_filter,
        Control.CDF_UPDATE_MODE: preset.cdf_update,
        Control.ENABLE_SMOOTH_INTRA: int(preset.smooth_intra),
        Control.ENABLE_CFL_INTRA: int(preset.cfl_intra),
        Control.ENABLE_ANGLE_DELTA: int(preset.angle_delta),
        Control.REDUCED_TX_TYPE_SET: int(preset.reduced_transforms),
        Control.INTRA_DEFAULT_TX_ONLY: int(preset.intra_default_transform),
        Control.COEFF_COST_UPDATE: preset.cost_update,
        Control.MODE_COST_UPDATE: preset.cost_update,
        Control.MV_COST_UPDATE: preset.cost_update,
        Control.SHARPNESS: preset.sharpness,
        Control.NOISE_SENSITIVITY: preset.noise_sensitivity,
        Control.TUNE_CONTENT: _TUNE[content],
        Control.ENABLE_PALETTE: int(screen and preset.screen_palette),
    }
    return MappingProxyType(controls)
