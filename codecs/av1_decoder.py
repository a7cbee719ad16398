"""The AV1 decoder: dav1d through PyAV, one picture out for each temporal unit in."""

from __future__ import annotations

from functools import cache
from typing import Any

import av
import cffi
import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from .errors import LocalError, RemoteError
from .types import Codec, Picture, Plane
from .wheels import carried_libraries

_FORMATS = ("yuv420p", "yuvj420p")
"""8-bit 4:2:0; the second is its name for full range."""


class Av1Decoder:
    """A VideoDecoder on dav1d with no delay. Use from one thread at a time.

    dav1d decodes a frame whose references were lost into garbage without an error: the caller
    gives it only frames whose dependencies were decoded.
    """

    codec = Codec.AV1

    def __init__(self) -> None:
        self.implementation = f"libdav1d {_dav1d_version()}".strip()
        self._context: VideoCodecContext | None = _open()

    def decode(self, data: bytes, *, capture_us: int = 0) -> Picture | None:
        """Decode one temporal unit; the picture is a view of dav1d's own planes.

        Raises RemoteError for a unit that dav1d refuses or that is not 8-bit 4:2:0, LocalError
        after close.
        """
        if self._context is None:
            raise LocalError("the decoder is closed")
        if not data:
            raise RemoteError("an empty temporal unit")
        try:
            frames = self._context.decode(av.Packet(data))
        except av.FFmpegError as error:
            raise RemoteError(f"dav1d refuses a unit of {len(data)} bytes: {error}") from error
        return _picture(frames[-1], capture_us=capture_us) if frames else None

    def close(self) -> None:
        """Free dav1d's memory. May be called twice."""
        self._context = None


def _open() -> VideoCodecContext:
    try:
        context = av.CodecContext.create("libdav1d", "r")
    except av.codec.codec.UnknownCodecError as error:
        raise LocalError("PyAV's FFmpeg is built without libdav1d") from error
    # One thread and no frame delay: a picture comes out of the call that brought its unit.
    context.options = {"max_frame_delay": "1", "threads": "1"}
    context.thread_count = 1
    assert isinstance(context, VideoCodecContext)
    return context


def _picture(frame: VideoFrame, *, capture_us: int) -> Picture:
    if frame.format.name not in _FORMATS:
        raise RemoteError(f"pixel format {frame.format.name}; 8-bit 4:2:0 is expected")
    y, u, v = (_view(frame, index) for index in range(3))
    return Picture(y=y, u=u, v=v, capture_us=capture_us)


def _view(frame: VideoFrame, index: int) -> Plane:
    """The plane's pixels without a copy; the array keeps the frame alive."""
    plane = frame.planes[index]
    rows: Plane = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
    return rows[: plane.height, : plane.width]


@cache
def _dav1d_version() -> str:
    """dav1d's version from the library that PyAV's wheel carries, empty where it cannot be told."""
    ffi = cffi.FFI()
    ffi.cdef("const char *dav1d_version(void);")
    for path in carried_libraries("av", "dav1d"):
        try:
            library: Any = ffi.dlopen(str(path))
            version: Any = ffi.string(library.dav1d_version())
        except (OSError, AttributeError):
            continue
        return str(version.decode())
    return ""
