"""Opening of media files: what can be wrong with one is said in a line, and what a file holds."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import av
from av.container import InputContainer
from av.stream import Disposition
from av.video.stream import VideoStream

from .errors import LocalError

T = TypeVar("T")

US_PER_S = 1_000_000
DEFAULT_FPS = Fraction(30)  # ours: for elementary streams that carry no timing
# Ours: where timestamps run backwards or jump by more, the file was cut; time goes on evenly.
MAX_GAP_US = 10 * US_PER_S
# Container formats of libavformat without timestamps; its own guess for them is a fixed 25.
UNTIMED_FORMATS = frozenset({"h264", "hevc", "m4v", "mpegvideo", "obu", "h263", "vvc"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaInfo:
    """What a file says of itself; duration_us is None where it does not tell."""

    width: int
    height: int
    fps: Fraction
    duration_us: int | None
    has_audio: bool


def probe(path: str | Path) -> MediaInfo:
    """Size (as shown, after the file's rotation), rate, duration and sound of a video file.

    Raises LocalError for what is no file, cannot be read, or has no video.
    """
    with open_container(path) as container:
        stream = video_stream(container, path)
        width, height = stream.codec_context.width, stream.codec_context.height
        if _is_sideways(container, stream):
            width, height = height, width
        return MediaInfo(
            width=width,
            height=height,
            fps=stream_fps(container, stream),
            duration_us=container.duration,
            has_audio=bool(container.streams.audio),
        )


def open_container(path: str | Path) -> InputContainer:
    """The file as PyAV reads it. Raises LocalError that names the file and what is wrong."""
    full_path = existing_file(path)
    try:
        # An absolute path: names such as "concat:x" would otherwise choose a protocol.
        return av.open(str(full_path), mode="r", metadata_errors="replace")
    except (av.FFmpegError, OSError, ValueError) as error:
        raise LocalError(f"{path}: not a readable media file ({_reason(error)})") from error


def existing_file(path: str | Path) -> Path:
    """The absolute path of a regular file that has content. Raises LocalError otherwise."""
    full_path = Path(path).absolute()
    try:
        if full_path.is_dir():
            raise LocalError(f"{path}: a directory, not a media file")
        if not full_path.exists():
            raise LocalError(f"{path}: no such file")
        if not full_path.is_file():
            raise LocalError(f"{path}: not a regular file")
        if not full_path.stat().st_size:
            raise LocalError(f"{path}: an empty file")
    except (OSError, ValueError) as error:
        if isinstance(error, LocalError):
            raise
        raise LocalError(f"{path}: cannot be read ({error})") from error
    return full_path


def video_stream(container: InputContainer, path: str | Path) -> VideoStream:
    """The first video stream that is no cover picture. Raises LocalError when there is none."""
    for stream in container.streams.video:
        if not stream.disposition & Disposition.attached_pic:
            return stream
    raise LocalError(f"{path}: no video stream")


def stream_fps(container: InputContainer, stream: VideoStream) -> Fraction:
    """The stream's own mean rate, DEFAULT_FPS where it has none."""
    is_timed = container.format.name not in UNTIMED_FORMATS
    told = stream.average_rate or stream.guessed_rate
    rate = told if is_timed else stream.codec_context.framerate
    return Fraction(rate) if rate and 0 < rate <= 1000 else DEFAULT_FPS


def decoded_frames(
    container: InputContainer, stream: VideoStream | av.AudioStream
) -> Iterator[av.VideoFrame | av.AudioFrame]:
    """Every frame that decodes, damaged packets left out, up to the end or where reading fails."""
    try:
        for packet in container.demux(stream):
            try:
                frames = packet.decode()
            except av.FFmpegError:
                continue
            yield from frames  # type: ignore[misc]
    except av.FFmpegError:
        return


def begun(items: Iterator[T], *, or_else: str) -> Generator[T, None, None]:
    """The same items, the first already read, so that what is wrong shows now.

    Raises LocalError with the words of or_else where there is none.
    """
    first = next(items, None)
    if first is None:
        raise LocalError(or_else)

    def all_items(first: T) -> Generator[T, None, None]:
        yield first
        yield from items

    return all_items(first)


def _is_sideways(container: InputContainer, stream: VideoStream) -> bool:
    for frame in decoded_frames(container, stream):
        return isinstance(frame, av.VideoFrame) and abs(frame.rotation) == 90
    return False


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
