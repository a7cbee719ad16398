"""H.264 encoders through PyAV: libx264 for calls, libopenh264 as a second baseline for evaluation.

Both produce constrained baseline access units in Annex B, one for each request at once. They run
rate controls of their own: a request's target_bps is obeyed, its quantizer, reads, writes and
temporal_id are not (each frame predicts from the one before). Odd sizes lose their last row or
column. A change of the coded size opens a new stream, hence gives a key frame.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from fractions import Fraction

import av
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType

from .errors import LocalError
from .h264_pacing import NominalRate
from .nal import NalType, nal_types
from .pictures import crop_even, frame_from_picture, scale_picture
from .types import FULL_SIZE, Codec, EncodedFrame, EncodeRequest, Picture

X264_PRESETS = (
    "ultrafast",
    "superfast",
    "veryfast",
    "faster",
    "fast",
    "medium",
    "slow",
    "slower",
    "veryslow",
)

# Ours: with 250 ms, and a ceiling that is near enough, each frame's VBV delay stays within 200 ms
# from 50 kbps to 1 Mbps on camera clips, key frames included; larger ones gain no quality.
VBV_MS = 250
# Ours: a stream serves targets from a fifth of the one it began with up to five times that. At 25
# times libx264 lets twice the VBV pass, and below a fifth the VBV would be more than 1.25 s.
RATE_SPAN = 5

NEVER_PERIODIC = 1 << 30  # x264's X264_KEYINT_MAX_INFINITE
LAMBDA_PER_QP = 118  # FF_QP2LAMBDA of libavutil: the unit of quality_stats


class _Stream:
    """One open codec context: a single size from its key frame on."""

    def __init__(self, context: VideoCodecContext) -> None:
        self.context = context
        self._pts = 0

    def encode(self, picture: Picture, *, key: bool) -> av.Packet:
        frame = frame_from_picture(picture, pts=self._pts, time_base=self.context.time_base)
        frame.pict_type = PictureType.I if key else PictureType.NONE
        self._pts += 1
        packets = self.context.encode(frame)
        if len(packets) != 1:
            raise LocalError(f"{self.context.name} gave {len(packets)} packets for one picture")
        return packets[0]

    def fits(self, picture: Picture) -> bool:
        return (self.context.width, self.context.height) == (picture.width, picture.height)


class _AvEncoder:
    """What the two encoders share: size, key frames, measuring, the answer."""

    codec = Codec.H264
    can_retry = False

    def __init__(self, *, width: int, height: int, fps: Fraction | int, threads: int = 1) -> None:
        self._fps = Fraction(fps)
        if not 0 < self._fps <= 1000:
            raise LocalError(f"fps {fps} is outside (0, 1000]")
        if not 1 <= threads <= 64:
            raise LocalError(f"threads {threads} is outside 1..64")
        if width < 2 or height < 2:
            raise LocalError(f"H.264 needs at least 2x2 pixels, got {width}x{height}")
        self._size = (width & ~1, height & ~1)
        self._threads = threads
        self._stream: _Stream | None = None
        self._cpu_ns: Callable[[], int] = (
            time.thread_time_ns if threads == 1 else time.process_time_ns
        )

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        """Encode one picture; key frames that a new stream needs are made without being asked.

        The result's quantizer is the frame's mean QP (0..51) from libx264, 0 from libopenh264,
        which does not tell. Raises LocalError for a size or rate that the codec refuses.
        """
        if request.target_bps <= 0:
            raise LocalError(f"target_bps {request.target_bps} is not positive")
        start_ns, start_cpu_ns = time.perf_counter_ns(), self._cpu_ns()
        picture = _coded_picture(request)
        stream = self._stream_for(picture, request.target_bps)
        packet = stream.encode(picture, key=request.key)
        data = bytes(packet)
        key = NalType.IDR in nal_types(data)
        return EncodedFrame(
            data=data,
            codec=self.codec,
            frame_id=request.frame_id,
            capture_us=request.picture.capture_us,
            key=key,
            quantizer=_mean_qp(packet),
            temporal_id=0,
            dependencies=() if key else request.dependencies,
            ltr_slot=None,
            width=picture.width,
            height=picture.height,
            encode_us=(time.perf_counter_ns() - start_ns) // 1000,
            encode_cpu_us=(self._cpu_ns() - start_cpu_ns) // 1000,
        )

    def close(self) -> None:
        """Free the codec's memory; a later encode opens a new stream."""
        self._stream = None

    def _stream_for(self, picture: Picture, target_bps: int) -> _Stream:
        stream = self._stream
        if stream is None or not stream.fits(picture) or not self._retarget(stream, target_bps):
            stream = self._stream = self._open(picture, target_bps)
        return stream

    def _retarget(self, stream: _Stream, target_bps: int) -> bool:
        """Bring the open stream to a new rate; False when that takes a new stream."""
        raise NotImplementedError

    def _open(self, picture: Picture, target_bps: int) -> _Stream:
        raise NotImplementedError

    def _open_context(
        self, name: str, *, picture: Picture, bit_rate: int, options: dict[str, str]
    ) -> VideoCodecContext:
        try:
            context = av.CodecContext.create(name, "w")
            assert isinstance(context, VideoCodecContext)
            context.width, context.height = picture.width, picture.height
            context.pix_fmt = "yuv420p"
            context.framerate = self._fps
            context.time_base = 1 / self._fps
            context.bit_rate = bit_rate
            context.gop_size = NEVER_PERIODIC
            context.thread_count = self._threads
            context.options = options
            context.open()
        except (av.FFmpegError, ValueError) as error:
            size = f"{picture.width}x{picture.height}"
            raise LocalError(f"{name} refuses {size} at {bit_rate} bps: {error}") from error
        return context


class H264Encoder(_AvEncoder):
    """libx264, constrained baseline, zero delay; its rate changes live without a key frame.

    width and height are the size at first; pictures of another size open a new stream, and so does
    a target of less than a fifth or more than five times the one that the stream began with.
    ceiling_bps and vbv_bits set what a stream is opened with in place of five times its first
    target and 250 ms of it: targets up to the ceiling then need no new stream, but libx264 keeps
    to its VBV the worse the farther the target is below. slice_bytes bounds each slice so that it
    fits one packet (None: one slice a frame). fps is what pictures are expected at; where their
    capture times tell of another or a changing rate, the bits follow those.
    """

    implementation = "libx264"

    def __init__(
        self,
        *,
        width: int,
        height: int,
        fps: Fraction | int,
        preset: str = "superfast",
        ceiling_bps: int | None = None,
        vbv_bits: int | None = None,
        slice_bytes: int | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(width=width, height=height, fps=fps, threads=threads)
        if preset not in X264_PRESETS:
            raise LocalError(f"x264 preset {preset!r} is none of {', '.join(X264_PRESETS)}")
        for name, value, least in (
            ("ceiling_bps", ceiling_bps, 1000),
            ("vbv_bits", vbv_bits, 1000),
            ("slice_bytes", slice_bytes, 100),
        ):
            if value is not None and value < least:
                raise LocalError(f"{name} {value} is below {least}")
        self._preset = preset
        self._ceiling_bps = ceiling_bps
        self._vbv_bits = vbv_bits
        self._slice_bytes = slice_bytes
        self._nominal_rate = NominalRate(self._fps)
        self._served_bps = range(0)

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        """See _AvEncoder.encode."""
        self._nominal_rate.add(request.picture.capture_us)
        return super().encode(request)

    def _retarget(self, stream: _Stream, target_bps: int) -> bool:
        rate_bps = _whole_kbps(self._nominal_rate.nominal_bps(target_bps))
        if rate_bps not in self._served_bps:
            return False
        if rate_bps != stream.context.bit_rate:
            stream.context.bit_rate = rate_bps
        return True

    def _open(self, picture: Picture, target_bps: int) -> _Stream:
        rate_bps = _whole_kbps(self._nominal_rate.nominal_bps(target_bps))
        ceiling_bps = max(self._ceiling_bps or RATE_SPAN * rate_bps, rate_bps)
        self._served_bps = range(rate_bps // RATE_SPAN, ceiling_bps + 1)
        options = {
            "preset": self._preset,
            "tune": "zerolatency",
            "profile": "baseline",
            "sc_threshold": "0",
            # x264 follows bit_rate after open only if this equals it at open.
            "maxrate": str(ceiling_bps),
            "bufsize": str(self._vbv_bits or max(1000, target_bps * VBV_MS // 1000)),
        }
        if self._slice_bytes is not None:
            options["x264-params"] = f"slice-max-size={self._slice_bytes}"
        context = self._open_context(
            "libx264", picture=picture, bit_rate=ceiling_bps, options=options
        )
        context.bit_rate = rate_bps
        return _Stream(context)


class OpenH264Encoder(_AvEncoder):
    """Cisco's libopenh264, constrained baseline; a new rate is a new stream with a key frame.

    Pictures have to come at fps: it knows no other measure of time.
    """

    implementation = "libopenh264"

    def _retarget(self, stream: _Stream, target_bps: int) -> bool:
        return stream.context.bit_rate == target_bps

    def _open(self, picture: Picture, target_bps: int) -> _Stream:
        options = {
            "rc_mode": "bitrate",
            "profile": "constrained_baseline",
            # A skipped picture would be a frame without bytes.
            "allow_skip_frames": "0",
        }
        return _Stream(
            self._open_context("libopenh264", picture=picture, bit_rate=target_bps, options=options)
        )


def _whole_kbps(rate_bps: int) -> int:
    """libx264 counts in whole kbit/s, and takes 0 for "no rate set"."""
    return max(1000, rate_bps // 1000 * 1000)


def _coded_picture(request: EncodeRequest) -> Picture:
    picture = request.picture
    if request.scale != FULL_SIZE:
        picture = scale_picture(
            picture,
            width=max(2, round(picture.width * request.scale)),
            height=max(2, round(picture.height * request.scale)),
        )
    return crop_even(picture)


def _mean_qp(packet: av.Packet) -> int:
    """From AV_PKT_DATA_QUALITY_STATS (libavcodec/packet.h): u32le of QP times FF_QP2LAMBDA."""
    if not packet.has_sidedata("quality_stats"):
        return 0
    (quality,) = struct.unpack_from("<I", bytes(packet.get_sidedata("quality_stats")))
    return min(51, int(quality) // LAMBDA_PER_QP)
