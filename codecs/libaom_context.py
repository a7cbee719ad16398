"""One open libaom encoder: controls and pictures in, temporal units and reconstructions out.

It knows how libaom is called and nothing of requests, presets or slots' contents.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from enum import IntEnum, IntFlag
from fractions import Fraction
from typing import Any

import numpy as np

from .errors import LocalError
from .libaom import ENCODER_ABI, USAGE_REALTIME, LibAom
from .types import Picture, Plane

SCALE_MODES = {
    Fraction(1): 0,
    Fraction(4, 5): 1,
    Fraction(3, 5): 2,
    Fraction(3, 4): 3,
    Fraction(1, 4): 4,
    Fraction(1, 8): 5,
    Fraction(1, 2): 6,
    Fraction(2, 3): 7,
    Fraction(1, 3): 8,
}
"""AOM_SCALING_MODE (aomcx.h)."""

_IMAGE_I420 = 0x102
"""AOM_IMG_FMT_I420: PLANAR | 2 (aom_image.h)."""
_PACKET_FRAME = 0
"""AOM_CODEC_CX_FRAME_PKT."""
_CBR = 1
"""AOM_CBR. Nothing of it works under AV1E_SET_RTC_EXTERNAL_RC, but real-time tools ask for it."""
_TIMEBASE_HZ = 30
"""Ours. Rate is set by quantizers from outside, so libaom needs no true time."""
_BITRATE_KBPS = 1000
"""Ours: unused under external rate control, but 0 is refused."""
_MAX_QUANTIZER = 63


class Control(IntEnum):
    """Control ids (aome_enc_control_id in aomcx.h; AV1_GET_NEW_FRAME_IMAGE in aom.h)."""

    SCALE_MODE = 11
    SPEED = 13
    SHARPNESS = 16
    GET_LAST_QUANTIZER_64 = 20
    ROW_MT = 32
    TILE_COLUMNS = 33
    ENABLE_TPL_MODEL = 35
    AQ_MODE = 40
    NOISE_SENSITIVITY = 42
    TUNE_CONTENT = 43
    CDF_UPDATE_MODE = 44
    SUPERBLOCK_SIZE = 56
    ENABLE_CDEF = 58
    ENABLE_RESTORATION = 59
    ENABLE_OBMC = 61
    ENABLE_ORDER_HINT = 79
    ENABLE_REF_FRAME_MVS = 84
    ENABLE_GLOBAL_MOTION = 95
    ENABLE_WARPED_MOTION = 96
    ENABLE_FILTER_INTRA = 98
    ENABLE_SMOOTH_INTRA = 99
    ENABLE_CFL_INTRA = 101
    ENABLE_PALETTE = 104
    ENABLE_ANGLE_DELTA = 106
    DELTAQ_MODE = 107
    REDUCED_TX_TYPE_SET = 118
    INTRA_DEFAULT_TX_ONLY = 121
    COEFF_COST_UPDATE = 126
    MODE_COST_UPDATE = 127
    MV_COST_UPDATE = 128
    SVC_LAYER_ID = 131
    SVC_PARAMS = 132
    SVC_REF_FRAME_CONFIG = 133
    LOOPFILTER_CONTROL = 149
    RTC_EXTERNAL_RC = 152
    QUANTIZER_ONE_PASS = 159
    GET_NEW_FRAME_IMAGE = 233


class FrameFlag(IntFlag):
    """AOM_EFLAG_* (aom_encoder.h, aomcx.h)."""

    FORCE_KEY = 1 << 0
    ERROR_RESILIENT = 1 << 28


class AomContext:
    """A libaom real-time encoder for one picture size, under external rate control.

    Not safe for two threads at a time. Every failing call raises LocalError with libaom's words.
    """

    def __init__(self, aom: LibAom, *, width: int, height: int, threads: int) -> None:
        self._aom = aom
        self._ffi: Any = aom.ffi
        self._context: Any = aom.ffi.new("aom_codec_ctx_t *")
        self._image: Any = aom.ffi.new("aom_image_t *")
        self._references: Any = aom.ffi.new("aom_svc_ref_frame_config_t *")
        self._scale: Any = aom.ffi.new("aom_scaling_mode_t *")
        self._iterator: Any = aom.ffi.new("const void **")
        self._pts = 0
        interface = aom.lib.aom_codec_av1_cx()
        config = self._config(interface, width=width, height=height, threads=threads)
        status = aom.lib.aom_codec_enc_init_ver(self._context, interface, config, 0, ENCODER_ABI)
        aom.check(status, doing=f"opening for {width}x{height}", context=self._context)
        # Also frees the memory of a context that nobody closed.
        self._destroy = weakref.finalize(self, aom.lib.aom_codec_destroy, self._context)
        self._describe_image(width=width, height=height)
        self._take_control()

    def set(self, control: IntEnum, value: int) -> None:
        """Set a control that takes an int or unsigned int."""
        self._control(control, self._ffi.cast("int", value))

    def set_scale(self, scale: Fraction) -> None:
        """Code the next frame, and that one alone, at this fraction of the size: a key of SCALE_MODES."""
        self._scale.h_scaling_mode = self._scale.v_scaling_mode = SCALE_MODES[scale]
        self._control(Control.SCALE_MODE, self._scale)

    def set_references(
        self, *, names: Sequence[int], used: Sequence[bool], writes: Sequence[int]
    ) -> None:
        """Map the seven names to slots; say which names may predict and which slots to write."""
        config = self._references
        config.ref_idx[0:7] = list(names)
        config.reference[0:7] = list(map(int, used))
        config.refresh[0:8] = [int(slot in writes) for slot in range(8)]
        self._control(Control.SVC_REF_FRAME_CONFIG, config)

    def encode(self, picture: Picture, *, flags: FrameFlag) -> bytes:
        """Encode one frame; returns its temporal unit, delimiter included. Copies no plane."""
        self._pts += 1
        data = self._submit(picture, pts=self._pts, duration=1, flags=flags)
        if not data:
            raise LocalError(f"libaom {self._aom.version} made no frame of a picture")
        return data

    def last_quantizer(self) -> int:
        """The quantizer (0..63) of the last frame as libaom reports it."""
        value = self._ffi.new("int *")
        self._control(Control.GET_LAST_QUANTIZER_64, value)
        return int(value[0])

    def reconstruction(self) -> Picture:
        """A copy of what a decoder shows of the last frame, at its coded size."""
        image = self._ffi.new("aom_image_t *")
        self._control(Control.GET_NEW_FRAME_IMAGE, image)
        y, u, v = (self._copy_plane(image, index) for index in range(3))
        return Picture(y=y, u=u, v=v)

    def close(self) -> None:
        """Free libaom's memory. May be called twice."""
        self._destroy()

    def _config(self, interface: Any, *, width: int, height: int, threads: int) -> Any:
        config = self._ffi.new("aom_codec_enc_cfg_t *")
        status = self._aom.lib.aom_codec_enc_config_default(interface, config, USAGE_REALTIME)
        self._aom.check(status, doing="real-time defaults")
        config.g_w, config.g_h, config.g_threads = width, height, threads
        config.g_timebase.num, config.g_timebase.den = 1, _TIMEBASE_HZ
        config.g_lag_in_frames = config.g_error_resilient = config.rc_dropframe_thresh = 0
        config.rc_end_usage, config.rc_target_bitrate = _CBR, _BITRATE_KBPS
        config.rc_min_quantizer, config.rc_max_quantizer = 0, _MAX_QUANTIZER
        # AOM_KF_DISABLED: key frames only when forced. kf_max_dist stays at its default: 0 would
        # mean "all intra", and libaom crashes on a reference after it.
        config.kf_mode = 0
        return config

    def _take_control(self) -> None:
        """Take the quantizer and the references out of libaom's hands."""
        self.set(Control.RTC_EXTERNAL_RC, 1)
        self._declare_one_layer()

    def _declare_one_layer(self) -> None:
        """libaom obeys SVC_REF_FRAME_CONFIG only after layers were declared: one of each kind."""
        parameters = self._ffi.new("aom_svc_params_t *")
        parameters.number_spatial_layers = parameters.number_temporal_layers = 1
        parameters.max_quantizers[0] = _MAX_QUANTIZER
        parameters.scaling_factor_num[0] = parameters.scaling_factor_den[0] = 1
        parameters.layer_target_bitrate[0] = _BITRATE_KBPS
        parameters.framerate_factor[0] = 1
        self._control(Control.SVC_PARAMS, parameters)
        self._control(Control.SVC_LAYER_ID, self._ffi.new("aom_svc_layer_id_t *"))

    def _control(self, control: IntEnum, argument: Any) -> None:
        status = self._aom.lib.aom_codec_control(self._context, int(control), argument)
        if status:
            self._check(status, doing=control.name)

    def _check(self, status: int, *, doing: str) -> None:
        self._aom.check(status, doing=doing, context=self._context)

    def _submit(self, picture: Picture, *, pts: int, duration: int, flags: FrameFlag) -> bytes:
        """Encode at a time in ticks of the timebase; nothing comes back of a dropped picture."""
        planes = _planes_for_libaom(picture)
        self._fill_image(planes)
        status = self._aom.lib.aom_codec_encode(
            self._context, self._image, pts, duration, int(flags)
        )
        self._check(status, doing="encoding")
        return self._packets()

    def _describe_image(self, *, width: int, height: int) -> None:
        image = self._image
        image.fmt, image.bit_depth, image.bps = _IMAGE_I420, 8, 12
        image.w = image.d_w = width
        image.h = image.d_h = height
        image.x_chroma_shift = image.y_chroma_shift = 1

    def _fill_image(self, planes: tuple[Plane, Plane, Plane]) -> None:
        image, cast = self._image, self._ffi.cast
        for index, plane in enumerate(planes):
            image.planes[index] = cast("unsigned char *", plane.ctypes.data)
            image.stride[index] = plane.strides[0]

    def _packets(self) -> bytes:
        iterator = self._iterator
        iterator[0] = self._ffi.NULL
        parts: list[bytes] = []
        while packet := self._aom.lib.aom_codec_get_cx_data(self._context, iterator):
            if packet.kind == _PACKET_FRAME:
                frame = packet.data.frame
                parts.append(self._ffi.buffer(frame.buf, frame.sz)[:])
        return b"".join(parts)

    def _copy_plane(self, image: Any, index: int) -> Plane:
        shift = int(index > 0)
        width, height = (image.d_w + shift) >> shift, (image.d_h + shift) >> shift
        stride = image.stride[index]
        buffer = self._ffi.buffer(image.planes[index], stride * (height - 1) + width)
        strided = np.ndarray((height, width), np.uint8, buffer, strides=(stride, 1))
        return strided.copy()


def _planes_for_libaom(picture: Picture) -> tuple[Plane, Plane, Plane]:
    """The planes themselves; libaom reads v with u's stride, so v is copied where they differ."""
    if picture.u.strides == picture.v.strides:
        return picture.y, picture.u, picture.v
    return picture.y, np.ascontiguousarray(picture.u), np.ascontiguousarray(picture.v)
