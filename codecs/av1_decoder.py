"""The AV1 decoder: dav1d through PyAV, one picture out for each temporal unit in."""

from __future__ import annotations

from functools import cache
from typing import Any

import av
import cffi
from av.video.codeccontext import VideoCodecContext

from .errors import LocalError, RemoteError
from .pictures import NATIVE_FORMATS, picture_from_frame
from .types import Codec, Picture
from .wheels import carried_libraries

MAX_PICTURE_PX = 35_651_584
"""MaxPicSize of AV1's highest levels, 6.0 to 6.3 (annex A.3): bounds what a header can allocate."""


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
        if not frames:
            return None
        if frames[-1].format.name not in NATIVE_FORMATS:
            raise RemoteError(f"pixel format {frames[-1].format.name}; 8-bit 4:2:0 is expected")
        return picture_from_frame(frames[-1], capture_us=capture_us)

    def close(self) -> None:
        """Free dav1d's memory. May be called twice."""
        self._context = None


def _open() -> VideoCodecContext:
    try:
        context = av.CodecContext.create("libdav1d", "r")
    except av.codec.codec.UnknownCodecError as error:
        raise LocalError("PyAV's FFmpeg is built without libdav1d") from error
    # One thread and no frame delay: a picture comes out of the call that brought its unit.
    context.options = {
        "max_frame_delay": "1",
        "threads": "1",
        "max_pixels": str(MAX_PICTURE_PX),
    }
    context.thread_count = 1
    assert isinstance(context, VideoCodecContext)
    context.open()
    return context


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
