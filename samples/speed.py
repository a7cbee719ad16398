"""How fast this machine encodes and decodes the project's own scene, by CPU time."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

from ..codecs.av1_presets import PRESETS
from ..codecs.factory import open_decoder, open_encoder
from ..codecs.types import Codec, EncodedFrame, EncodeRequest, Picture, VideoEncoder
from ..rtc.percentile import percentile
from .call.options import default_bitrate_bps
from .scene import Scene

SIZES = ((640, 360), (1280, 720))
FPS = 30
# Ours: about what the scene gets at the call's default rate.
QUANTIZER = 22
# Ours: the median of so many frames after the key frame varies by less than 5 %.
FRAMES = {(640, 360): 24, (1280, 720): 12}
ALL_SLOTS = tuple(range(8))


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Median CPU time of a frame on one thread; kbps is what the frames came to at 30 fps."""

    codec: str
    preset: str
    width: int
    height: int
    encode_ms: float
    decode_ms: float
    kbps: int


def measure_speeds() -> list[Speed]:
    """Every preset at both sizes, and H.264. A few seconds of CPU time."""
    speeds = []
    for width, height in SIZES:
        scene = Scene(width=width, height=height)
        pictures = [scene.picture(index) for index in range(FRAMES[width, height])]
        speeds += [measure(Codec.AV1, preset=preset, pictures=pictures) for preset in PRESETS]
        speeds.append(measure(Codec.H264, preset="default", pictures=pictures))
    return speeds


def measure(codec: Codec, *, preset: str, pictures: Sequence[Picture]) -> Speed:
    """Encode the pictures as a call does, each from the one before, and decode them."""
    width, height = pictures[0].width, pictures[0].height
    frames = list(encoded(pictures, codec=codec, preset=preset))
    later = frames[1:]
    return Speed(
        codec=codec.value,
        preset=preset,
        width=width,
        height=height,
        encode_ms=_median_ms([frame.encode_cpu_us for frame in later]),
        decode_ms=_median_ms(_decode_times_us(codec, frames)[1:]),
        kbps=sum(len(frame.data) for frame in later) * 8 * FPS // len(later) // 1000,
    )


def encoded(
    pictures: Iterable[Picture], *, codec: Codec = Codec.AV1, preset: str
) -> Generator[EncodedFrame, None, None]:
    """Each picture as it comes, from the one before; the first is a key frame."""
    encoder: VideoEncoder | None = None
    try:
        for index, picture in enumerate(pictures):
            encoder = encoder or open_encoder(codec, width=picture.width, height=picture.height)
            yield _encode(encoder, picture, index=index, preset=preset)
    finally:
        if encoder is not None:
            encoder.close()


def _encode(encoder: VideoEncoder, picture: Picture, *, index: int, preset: str) -> EncodedFrame:
    is_key = index == 0
    request = EncodeRequest(
        picture=picture,
        frame_id=index,
        quantizer=QUANTIZER,
        target_bps=default_bitrate_bps(width=picture.width, height=picture.height, fps=FPS),
        key=is_key,
        reads=() if is_key else (0,),
        writes=ALL_SLOTS if is_key else (0,),
        dependencies=() if is_key else (index - 1,),
        preset=preset,
    )
    return encoder.encode(request)


def _decode_times_us(codec: Codec, frames: Sequence[EncodedFrame]) -> list[int]:
    decoder = open_decoder(codec)
    times_us = []
    try:
        for frame in frames:
            start_ns = time.process_time_ns()
            decoder.decode(frame.data)
            times_us.append((time.process_time_ns() - start_ns) // 1000)
    finally:
        decoder.close()
    return times_us


def _median_ms(times_us: Sequence[int]) -> float:
    return round((percentile(times_us, 50) or 0) / 1000, 2)
