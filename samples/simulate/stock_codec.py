"""The H.264 codec of stock aiortc itself, for the policy that others are compared with."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from aiortc.codecs.h264 import H264Decoder, H264Encoder
from aiortc.jitterbuffer import JitterFrame

from ...codecs.errors import RemoteError
from ...codecs.pictures import frame_from_picture, picture_from_frame
from ...codecs.types import Codec, EncodedFrame, EncodeRequest, Picture
from ...rtc.rtp.h264_payload import assemble_h264, is_h264_key

TIME_BASE = Fraction(1, 90_000)


class StockEncoder:
    """aiortc's encoder. A request's key and target_bps are obeyed as aiortc's sender would."""

    codec = Codec.H264
    implementation = "aiortc libx264"
    can_retry = False

    def __init__(self) -> None:
        self._encoder = _OneThreadEncoder()

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        """See VideoEncoder; the device model says how long it took."""
        picture = request.picture
        self._encoder.target_bitrate = request.target_bps
        pts = picture.capture_us * TIME_BASE.denominator // 1_000_000
        frame = frame_from_picture(picture, pts=pts, time_base=TIME_BASE)
        payloads, _ = self._encoder.encode(frame, request.key)
        key = any(is_h264_key(payload) for payload in payloads)
        return EncodedFrame(
            data=assemble_h264(payloads),
            codec=Codec.H264,
            frame_id=request.frame_id,
            capture_us=picture.capture_us,
            key=key,
            quantizer=0,
            temporal_id=0,
            dependencies=() if key else request.dependencies,
            ltr_slot=None,
            width=picture.width,
            height=picture.height,
            encode_us=0,
            encode_cpu_us=0,
        )

    def close(self) -> None:
        """See VideoEncoder; Python frees it."""


class StockDecoder:
    """aiortc's decoder: it shows smeared pictures where references are missing."""

    codec = Codec.H264
    implementation = "aiortc"

    def __init__(self) -> None:
        self._decoder = H264Decoder()

    def decode(self, data: bytes, *, capture_us: int = 0) -> Picture | None:
        """See VideoDecoder."""
        try:
            frames: list[Any] = self._decoder.decode(JitterFrame(data=data, timestamp=0))
        except ValueError as error:  # av.InvalidDataError is one; av itself is the codecs' alone
            raise RemoteError(f"undecodable: {error}") from error
        return picture_from_frame(frames[-1], capture_us=capture_us) if frames else None

    def close(self) -> None:
        """See VideoDecoder; Python frees it."""


class _OneThreadEncoder(H264Encoder):
    """libx264 cuts a picture by the number of its threads: with one, every machine makes the same bits."""

    _context: Any = None

    @property
    def codec(self) -> Any:
        return self._context

    @codec.setter
    def codec(self, context: Any) -> None:
        self._context = context
        if context is not None:
            context.thread_count = 1
