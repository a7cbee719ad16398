"""`doctor --calibrate`: what a frame costs here, by codec, preset and size, on real pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from ..codecs.av1_presets import PRESETS
from ..codecs.errors import LocalError
from ..codecs.media import open_video
from ..codecs.types import Codec, Picture
from .scene import Scene
from .speed import Speed, measure

SIZES = ((320, 180), (640, 360), (960, 540), (1280, 720))
# Ours: the median of so many frames after the key frame varies by less than 5 %.
PICTURES = 20
WORK = (*((Codec.AV1, preset) for preset in PRESETS), (Codec.H264, "default"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU time of a frame on one thread, median over frames, then over clips."""

    codec: str
    preset: str
    width: int
    height: int
    encode_us: int
    decode_us: int


def steps(clips: Sequence[str]) -> int:
    """How often calibrate calls on_step."""
    return len(SIZES) * len(WORK) * max(1, len(clips))


def calibrate(clips: Sequence[str], *, on_step: Callable[[], None] = lambda: None) -> list[Cost]:
    """Measure on these files, or on the project's scene without any. Raises LocalError for a file."""
    costs = []
    for width, height in SIZES:
        sources = [_pictures(clip, width, height) for clip in clips] or [_scene(width, height)]
        for codec, preset in WORK:
            measured = []
            for pictures in sources:
                measured.append(measure(codec, preset=preset, pictures=pictures))
                on_step()
            costs.append(_cost(measured))
    return costs


def _cost(measured: Sequence[Speed]) -> Cost:
    first = measured[0]
    return Cost(
        codec=first.codec,
        preset=first.preset,
        width=first.width,
        height=first.height,
        encode_us=round(1000 * median(speed.encode_ms for speed in measured)),
        decode_us=round(1000 * median(speed.decode_ms for speed in measured)),
    )


def _pictures(clip: str, width: int, height: int) -> list[Picture]:
    pictures: Iterator[Picture] = open_video(clip, size=(width, height))
    taken = list(islice(pictures, PICTURES))
    if len(taken) < PICTURES:
        raise LocalError(f"{clip} has {len(taken)} pictures, {PICTURES} are needed")
    return taken


def _scene(width: int, height: int) -> list[Picture]:
    scene = Scene(width=width, height=height)
    return [scene.picture(index) for index in range(PICTURES)]
