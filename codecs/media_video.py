"""Pictures of a file, one after the other with the time of each; nothing is held beyond one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from .errors import LocalError
from .media_container import (
    DEFAULT_FPS,
    MAX_GAP_US,
    UNTIMED_FORMATS,
    US_PER_S,
    begun,
    decoded_frames,
    existing_file,
    open_container,
    stream_fps,
    video_stream,
)
from .pictures import check_size, fit_picture, i420_bytes, picture_from_frame, picture_from_i420
from .types import Picture, Plane

RAW_SUFFIXES = frozenset({".yuv", ".i420"})
# Ours: containers that count in milliseconds round by less, so equal rates map one to one.
ROUNDING_US = 2_000

Pictures = Generator[Picture, None, None]
Pass = Callable[[], Iterator[Picture]]


def open_video(
    path: str | Path,
    *,
    size: tuple[int, int] | None = None,
    fps: Fraction | int | None = None,
    loop: bool = False,
    frames: int | None = None,
) -> Pictures:
    """The pictures of any file that FFmpeg reads, y4m and raw I420 (.yuv, .i420) included.

    capture_us comes from the file's timestamps and begins near 0. size is what each picture is
    scaled to, its middle cropped to the shape (None: as it is). fps repeats and leaves out
    pictures by time (None: as they come); for files without timestamps (raw, elementary streams)
    it says their own rate instead, 30 if not given. Raw files need size, which is their own. loop
    begins again at the end, while time goes on; frames ends after that many. 10-bit, 4:2:2, 4:4:4
    and RGB become 8-bit 4:2:0 (see pictures). Rotation tags are obeyed, pixel shapes are not.

    Raises LocalError at once for a file that is missing, undecodable, without video or pictures,
    a raw one without size or cut short, and for illegal arguments. close() frees the file early.
    """
    if frames is not None and frames < 1:
        raise LocalError(f"frames {frames} is below 1")
    if fps is not None and not 0 < fps <= 1000:
        raise LocalError(f"fps {fps} is outside (0, 1000]")
    if size is not None:
        check_size(*size)
    rate = None if fps is None else Fraction(fps)
    if Path(path).suffix.lower() in RAW_SUFFIXES:
        pictures = _raw_pictures(path, size=size, fps=rate or DEFAULT_FPS, loop=loop)
    else:
        pictures = _file_pictures(path, fps=rate, loop=loop)
    shown = itertools.islice(_fitted(pictures, size), frames)
    return begun(shown, or_else=f"{path}: no picture can be decoded")


def _fitted(pictures: Iterator[Picture], size: tuple[int, int] | None) -> Iterator[Picture]:
    """Each fitted to the size; one that is repeated is fitted once."""
    source: Picture | None = None
    fitted: Picture | None = None
    for picture in pictures:
        if size is None:
            yield picture
            continue
        if source is None or fitted is None or source.y is not picture.y:
            source, fitted = picture, fit_picture(picture, width=size[0], height=size[1])
        yield replace(fitted, capture_us=picture.capture_us)


def _raw_pictures(
    path: str | Path, *, size: tuple[int, int] | None, fps: Fraction, loop: bool
) -> Iterator[Picture]:
    full_path = existing_file(path)
    if size is None:
        raise LocalError(f"{path}: a raw file needs its size given")
    frame_bytes, file_bytes = i420_bytes(*size), full_path.stat().st_size
    if file_bytes % frame_bytes:
        raise LocalError(
            f"{path}: {file_bytes} bytes are no whole number of {size[0]}x{size[1]} I420 "
            f"pictures of {frame_bytes} bytes"
        )
    data = _raw_blocks(full_path, frame_bytes, loop=loop)
    for index, block in enumerate(data):
        capture_us = round(index * US_PER_S / fps)
        yield picture_from_i420(block, width=size[0], height=size[1], capture_us=capture_us)


def _raw_blocks(path: Path, block_bytes: int, *, loop: bool) -> Iterator[bytes]:
    while True:
        with path.open("rb") as file:
            while len(block := file.read(block_bytes)) == block_bytes:
                yield block
        if not loop:
            return


def _file_pictures(path: str | Path, *, fps: Fraction | None, loop: bool) -> Iterator[Picture]:
    with open_container(path) as container:
        own_fps = stream_fps(container, video_stream(container, path))
        is_timed = container.format.name not in UNTIMED_FORMATS
        length_us = container.duration or 0
    if not is_timed and fps is not None:
        own_fps = fps
    period_us = round(US_PER_S / own_fps)

    def one_pass() -> Iterator[Picture]:
        return _spaced(_decoded(path, is_timed=is_timed), own_fps)

    pictures = _looped(one_pass, period_us, length_us) if loop else one_pass()
    if fps is None or not is_timed:
        return pictures
    return _at_rate(pictures, fps, last_us=period_us)


def _decoded(path: str | Path, *, is_timed: bool) -> Iterator[tuple[int | None, Picture]]:
    """Each picture with the time that the file gives it, if it gives one."""
    with open_container(path) as container:
        stream = video_stream(container, path)
        start_us = container.start_time or 0
        for frame in decoded_frames(container, stream):
            if not isinstance(frame, av.VideoFrame):
                continue
            time_us = None
            if is_timed and frame.pts is not None and frame.time_base is not None:
                time_us = round(frame.pts * frame.time_base * US_PER_S) - start_us
            yield time_us, _upright(picture_from_frame(frame, capture_us=0), frame.rotation)


def _spaced(timed: Iterator[tuple[int | None, Picture]], fps: Fraction) -> Iterator[Picture]:
    """Pictures whose times grow: the file's, evened out where they are missing or broken."""
    anchor_us, since_anchor, last_us = 0, 0, -1
    for time_us, picture in timed:
        even_us = anchor_us + round(since_anchor * US_PER_S / fps)
        if time_us is None or not last_us < time_us <= last_us + MAX_GAP_US:
            time_us = even_us
            since_anchor += 1
        else:
            anchor_us, since_anchor = time_us, 1
        last_us = time_us
        yield replace(picture, capture_us=time_us)


def _looped(one_pass: Pass, period_us: int, length_us: int) -> Iterator[Picture]:
    """Pass after pass; each begins when the file's sound and pictures have both ended."""
    offset_us = 0
    while True:
        end_us = None
        for picture in one_pass():
            end_us = picture.capture_us + period_us
            yield replace(picture, capture_us=offset_us + picture.capture_us)
        if end_us is None:
            return
        offset_us += max(end_us, length_us)


def _at_rate(pictures: Iterator[Picture], fps: Fraction, *, last_us: int) -> Iterator[Picture]:
    """At each tick of the new rate the newest picture; the last one lasts for last_us."""
    index, shown = 0, None
    for picture in pictures:
        while shown is not None and _tick_us(index, fps) + ROUNDING_US < picture.capture_us:
            yield replace(shown, capture_us=_tick_us(index, fps))
            index += 1
        shown = picture
    while shown is not None and _tick_us(index, fps) + ROUNDING_US < shown.capture_us + last_us:
        yield replace(shown, capture_us=_tick_us(index, fps))
        index += 1


def _tick_us(index: int, fps: Fraction) -> int:
    return round(index * US_PER_S / fps)


def _upright(picture: Picture, rotation_degrees: int) -> Picture:
    """Turned as the file's display matrix asks: counterclockwise, by quarters."""
    quarters = round(rotation_degrees / 90) % 4
    if not quarters:
        return picture

    def turned(plane: Plane) -> Plane:
        return np.ascontiguousarray(np.rot90(plane, quarters))

    return replace(picture, y=turned(picture.y), u=turned(picture.u), v=turned(picture.v))
