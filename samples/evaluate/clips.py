"""The clips of an evaluation: what each holds, and its pictures as every run reads them."""

from __future__ import annotations

import itertools
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

from ...codecs.errors import LocalError
from ...codecs.media import open_video, probe
from ...codecs.media_container import DEFAULT_FPS
from ...codecs.media_video import RAW_SUFFIXES
from ...codecs.pictures import crop_even, i420_bytes, i420_from_picture, picture_from_i420
from ...codecs.types import Picture
from .rates import US_PER_S, Rates

MIN_SIDE_PX = 16  # ours: as small as the project's own scene is drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How clips are read: see open_video. gaps_us replaces the times between pictures by random ones."""

    size: tuple[int, int] | None = None
    fps: Fraction | None = None
    frames: int | None = None
    gaps_us: tuple[int, int] | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A clip that was looked through. pictures is its length.

    name is for people, slug for folders; both are unique in the evaluation.
    """

    path: str
    name: str
    slug: str
    width: int
    height: int
    fps: Fraction
    pictures: int


def inspect_clips(paths: Sequence[str], *, options: ReadOptions) -> list[Clip]:
    """Look through each clip once, as far as runs will read it.

    Raises LocalError for one that is missing, undecodable, without video, or too small.
    """
    paths = list(dict.fromkeys(paths))
    file_names = Counter(Path(path).name for path in paths)
    slugs: set[str] = set()
    clips = []
    for path in paths:
        name = Path(path).name if file_names[Path(path).name] == 1 else path
        slug = _slug(name, taken=slugs)
        slugs.add(slug)
        clips.append(_inspect(path, name=name, slug=slug, options=options))
    return clips


def pictures_of_run(clip: Clip, *, rates: Rates, options: ReadOptions) -> int:
    """How many pictures a run encodes: at most options.frames, else the whole clip.

    Under a schedule the run goes on to the schedule's end, if the clip is shorter, or for
    options.frames pictures, if they are given.
    """
    if rates.is_constant:
        return min(clip.pictures, options.frames or clip.pictures)
    if options.frames is not None:
        return options.frames
    return max(clip.pictures, _pictures_until(rates.end_us or 0, clip.fps, options))


def read_pictures(clip: Clip, *, pictures: int, options: ReadOptions) -> Iterator[Picture]:
    """The first pictures of the clip, of even sides, in order of time.

    A clip with fewer is played backwards and forwards in turn, so that no cut arises: its own
    pictures first, then those before the last in reverse, and so on.
    """
    source = map(
        crop_even, open_video(clip.path, size=options.size, fps=options.fps, frames=pictures)
    )
    shown = source if clip.pictures >= pictures else _back_and_forth(source, clip, pictures)
    if options.gaps_us is None:
        yield from shown
        return
    for picture, capture_us in zip(shown, _random_times(options), strict=False):
        yield replace(picture, capture_us=capture_us)


def _slug(name: str, *, taken: Set[str]) -> str:
    base = re.sub(r"[^\w.-]+", "_", name).strip("._") or "clip"
    numbered = (f"{base}-{number}" for number in itertools.count(2))
    return next(slug for slug in itertools.chain([base], numbered) if slug not in taken)


def _inspect(path: str, *, name: str, slug: str, options: ReadOptions) -> Clip:
    is_raw = Path(path).suffix.lower() in RAW_SUFFIXES
    fps = options.fps or (DEFAULT_FPS if is_raw else probe(path).fps)
    width = height = count = 0
    for picture in open_video(path, size=options.size, fps=options.fps, frames=options.frames):
        if not count:
            width, height = picture.width & ~1, picture.height & ~1
        elif (picture.width & ~1, picture.height & ~1) != (width, height):
            raise LocalError(f"{path}: the picture size changes; give one with --size")
        count += 1
    if min(width, height) < MIN_SIDE_PX:
        raise LocalError(f"{path}: {width}x{height} is below {MIN_SIDE_PX} pixels a side")
    return Clip(
        path=path, name=name, slug=slug, width=width, height=height, fps=fps, pictures=count
    )


def _pictures_until(end_us: int, fps: Fraction, options: ReadOptions) -> int:
    """How many pictures are captured before end_us."""
    if options.gaps_us is not None:
        return sum(1 for _ in itertools.takewhile(lambda t: t < end_us, _random_times(options)))
    return -(-end_us * fps.numerator // (fps.denominator * US_PER_S))


def _random_times(options: ReadOptions) -> Iterator[int]:
    low, high = options.gaps_us or (0, 0)
    draw, now_us = random.Random(f"gaps {options.seed}"), 0
    while True:
        yield now_us
        now_us += draw.randint(low, high)


def _back_and_forth(source: Iterator[Picture], clip: Clip, pictures: int) -> Iterator[Picture]:
    """Keeps the clip on disk, since a decoder cannot run backwards."""
    with tempfile.TemporaryFile(prefix="codecpilot-clip-") as file:
        count = last_us = 0
        for picture in source:
            file.write(i420_from_picture(picture))
            count, last_us = count + 1, picture.capture_us
            yield picture
        gap_us = US_PER_S / clip.fps
        order = itertools.cycle([*range(count - 2, -1, -1), *range(1, count)] or [0])
        for step, index in enumerate(itertools.islice(order, pictures - count), start=1):
            yield _stored(file, index, clip, capture_us=last_us + round(step * gap_us))


def _stored(file: BinaryIO, index: int, clip: Clip, *, capture_us: int) -> Picture:
    size = i420_bytes(clip.width, clip.height)
    file.seek(index * size)
    return picture_from_i420(
        file.read(size), width=clip.width, height=clip.height, capture_us=capture_us
    )
