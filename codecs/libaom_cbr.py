"""libaom under its own constant-bitrate control, set up as libwebrtc sets it up: a baseline.

The settings are those of libwebrtc's libaom_av1_encoder.cc for one layer of camera content and one
thread, where libaom chooses quantizers, references and which pictures to drop. At starving rates
that drops half of the pictures; the variant that may not drop any is the harder baseline there.
"""

from __future__ import annotations

import time
from enum import IntEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from .errors import LocalError
from .libaom import LibAom, find_libaom
from .libaom_context import AomContext, Control, FrameFlag
from .types import FULL_SIZE, Codec, EncodedFrame, EncodeRequest, Picture

SPEEDS = range(5, 13)
"""AOME_SET_CPUUSED in real time. libwebrtc takes 8 to 10 for cameras, by size."""

_TIMEBASE_HZ = 90_000  # kVideoPayloadTypeFrequency
_MIN_QUANTIZER = 10  # kMinQp
_MAX_QUANTIZER = 52  # kDefaultVideoMaxQpAv1
_COARSEST_QUANTIZER = 63  # ours: without dropping, what libaom needs to hold low rates at all
_RATE_DEVIATION_PERCENT = 50  # rc_undershoot_pct and rc_overshoot_pct
_BUFFER_MS = 1000  # rc_buf_sz
_BUFFER_AIM_MS = 600  # rc_buf_initial_sz and rc_buf_optimal_sz
_DROP_THRESHOLD = 30  # rc_dropframe_thresh; webrtc_video_engine.cc always lets encoders drop


class _Control(IntEnum):
    """Further control ids (aome_enc_control_id in aomcx.h)."""

    MAX_INTRA_BITRATE_PERCENT = 26
    DISABLE_TRELLIS = 62
    ENABLE_QM = 63
    ENABLE_RECT_PARTITIONS = 73
    ENABLE_INTRA_EDGE_FILTER = 78
    ENABLE_TX64 = 80
    ENABLE_DIST_WTD_COMP = 83
    ENABLE_DUAL_FILTER = 86
    ENABLE_MASKED_COMP = 88
    ENABLE_INTERINTRA_COMP = 90
    ENABLE_SMOOTH_INTERINTRA = 91
    ENABLE_DIFF_WTD_COMP = 92
    ENABLE_INTERINTER_WEDGE = 93
    ENABLE_PAETH_INTRA = 100
    ENABLE_INTRABC = 105
    MAX_REFERENCE_FRAMES = 124
    AUTO_TILES = 166
    POST_ENCODE_DROP = 168
    MAX_CONSECUTIVE_DROP_MS = 169


_CONTROLS = MappingProxyType[IntEnum, int](
    {
        Control.ENABLE_CDEF: 1,
        Control.ENABLE_TPL_MODEL: 0,
        Control.DELTAQ_MODE: 0,
        Control.ENABLE_ORDER_HINT: 0,
        Control.AQ_MODE: 3,
        _Control.MAX_INTRA_BITRATE_PERCENT: 300,
        Control.COEFF_COST_UPDATE: 3,
        Control.MODE_COST_UPDATE: 3,
        Control.MV_COST_UPDATE: 3,
        Control.ENABLE_PALETTE: 0,
        _Control.AUTO_TILES: 1,
        Control.ROW_MT: 1,
        Control.ENABLE_OBMC: 0,
        Control.NOISE_SENSITIVITY: 0,
        Control.ENABLE_WARPED_MOTION: 0,
        Control.ENABLE_GLOBAL_MOTION: 0,
        Control.ENABLE_REF_FRAME_MVS: 0,
        Control.SUPERBLOCK_SIZE: 0,  # AOM_SUPERBLOCK_SIZE_64X64
        Control.ENABLE_CFL_INTRA: 0,
        Control.ENABLE_SMOOTH_INTRA: 0,
        Control.ENABLE_ANGLE_DELTA: 0,
        Control.ENABLE_FILTER_INTRA: 0,
        Control.INTRA_DEFAULT_TX_ONLY: 1,
        _Control.DISABLE_TRELLIS: 1,
        _Control.ENABLE_DIST_WTD_COMP: 0,
        _Control.ENABLE_DIFF_WTD_COMP: 0,
        _Control.ENABLE_DUAL_FILTER: 0,
        _Control.ENABLE_INTERINTRA_COMP: 0,
        _Control.ENABLE_INTERINTER_WEDGE: 0,
        _Control.ENABLE_INTRA_EDGE_FILTER: 0,
        _Control.ENABLE_INTRABC: 0,
        _Control.ENABLE_MASKED_COMP: 0,
        _Control.ENABLE_PAETH_INTRA: 0,
        _Control.ENABLE_QM: 0,
        _Control.ENABLE_RECT_PARTITIONS: 0,
        Control.ENABLE_RESTORATION: 0,
        _Control.ENABLE_SMOOTH_INTERINTRA: 0,
        _Control.ENABLE_TX64: 0,
        _Control.MAX_REFERENCE_FRAMES: 3,
    }
)
_DROP_CONTROLS = MappingProxyType[IntEnum, int](
    {_Control.MAX_CONSECUTIVE_DROP_MS: 250, _Control.POST_ENCODE_DROP: 1}
)


class LibaomCbrEncoder:
    """A VideoEncoder that obeys a request's target_bps and key, and decides the rest itself.

    A picture that libaom drops comes back as a frame without data; with drops False it drops none
    and may use every quantizer. fps is the nominal rate; pictures may come at others, since libaom
    is told their capture times. Use from one thread at a time.
    """

    codec = Codec.AV1
    can_retry = False

    def __init__(
        self,
        *,
        width: int,
        height: int,
        fps: Fraction | int,
        speed: int = 10,
        drops: bool = True,
    ) -> None:
        if speed not in SPEEDS:
            raise LocalError(f"speed {speed} is outside {SPEEDS[0]}..{SPEEDS[-1]}")
        if not 0 < fps <= 1000:
            raise LocalError(f"fps {fps} is outside (0, 1000]")
        aom = find_libaom()
        self.implementation = f"libaom {aom.version} CBR"
        self._size = (width, height)
        self._context = _CbrContext(aom, width=width, height=height, drops=drops)
        controls = {Control.SPEED: speed, **_CONTROLS, **(_DROP_CONTROLS if drops else {})}
        for control, value in controls.items():
            self._context.set(control, value)
        self._duration = max(1, round(_TIMEBASE_HZ / Fraction(fps)))
        self._pts = -1
        self._closed = False

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        """Encode one picture at its capture time. Raises LocalError for another size or a scale."""
        self._check(request)
        wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        self._context.set_target(request.target_bps)
        self._pts = max(self._pts + 1, request.picture.capture_us * _TIMEBASE_HZ // 1_000_000)
        flags = FrameFlag.FORCE_KEY if request.key else FrameFlag(0)
        data = self._context.encode_at(
            request.picture, pts=self._pts, duration=self._duration, flags=flags
        )
        return EncodedFrame(
            data=data,
            codec=self.codec,
            frame_id=request.frame_id,
            capture_us=request.picture.capture_us,
            key=request.key and bool(data),
            quantizer=self._context.last_quantizer(),
            temporal_id=0,
            dependencies=request.dependencies,
            ltr_slot=None,
            width=self._size[0],
            height=self._size[1],
            encode_us=(time.perf_counter_ns() - wall_ns) // 1000,
            encode_cpu_us=(time.thread_time_ns() - cpu_ns) // 1000,
        )

    def close(self) -> None:
        """Free libaom's memory. May be called twice."""
        self._closed = True
        self._context.close()

    def _check(self, request: EncodeRequest) -> None:
        if self._closed:
            raise LocalError("the encoder is closed")
        size = (request.picture.width, request.picture.height)
        if size != self._size or request.scale != FULL_SIZE:
            width, height = self._size
            raise LocalError(
                f"picture {size[0]}x{size[1]} at scale {request.scale}: "
                f"this encoder is open for {width}x{height} at scale 1 alone"
            )
        if request.target_bps < 1000:
            raise LocalError(f"target_bps {request.target_bps} is below libaom's least, 1000")


class _CbrContext(AomContext):
    """libaom with its own rate control and references."""

    def __init__(self, aom: LibAom, *, width: int, height: int, drops: bool) -> None:
        self._drops = drops
        super().__init__(aom, width=width, height=height, threads=1)

    def set_target(self, target_bps: int) -> None:
        """Hold this rate from the next picture on; libaom counts in whole kbit/s."""
        kbps = round(target_bps / 1000)
        if kbps == self._settings.rc_target_bitrate:
            return
        self._settings.rc_target_bitrate = kbps
        status = self._aom.lib.aom_codec_enc_config_set(self._context, self._settings)
        self._aom.check(status, doing=f"setting {kbps} kbit/s", context=self._context)

    def encode_at(self, picture: Picture, *, pts: int, duration: int, flags: FrameFlag) -> bytes:
        """Encode at a time in ticks; empty for a picture that libaom drops."""
        return self._submit(picture, pts=pts, duration=duration, flags=flags)

    def _config(self, interface: Any, *, width: int, height: int, threads: int) -> Any:
        config = super()._config(interface, width=width, height=height, threads=threads)
        config.g_timebase.den = _TIMEBASE_HZ
        config.g_input_bit_depth = 8
        config.rc_dropframe_thresh = _DROP_THRESHOLD if self._drops else 0
        config.rc_min_quantizer = _MIN_QUANTIZER
        config.rc_max_quantizer = _MAX_QUANTIZER if self._drops else _COARSEST_QUANTIZER
        config.rc_undershoot_pct = config.rc_overshoot_pct = _RATE_DEVIATION_PERCENT
        config.rc_buf_sz = _BUFFER_MS
        config.rc_buf_initial_sz = config.rc_buf_optimal_sz = _BUFFER_AIM_MS
        self._settings = config
        return config

    def _take_control(self) -> None:
        """Leave it with libaom."""
