"""The H.264 decoder: FFmpeg's own through PyAV, one access unit in, its picture out at once."""

from __future__ import annotations

import av
from av.codec.context import Flags, ThreadType
from av.video.codeccontext import VideoCodecContext

from .errors import RemoteError
from .nal import NalType, nal_types
from .pictures import picture_from_frame
from .types import Codec, Picture

# nal_unit_type 1 to 5 carry slices (ITU-T H.264, table 7-1).
SLICE_TYPES = frozenset(range(1, 6))
MAX_PIXELS = 139_264 * 256  # table A-1: MaxFS of level 6.2; bounds what one header can allocate
MAX_HELD_BYTES = 4096  # ours: parameter sets that come as a unit of their own are some 40 bytes


class H264Decoder:
    """Decodes access units in Annex B, of any size and any 8-bit or deeper profile.

    A damaged unit is a RemoteError, never a concealed picture, and so is every unit after it
    until the next key frame: FFmpeg would predict from what is missing without an error.
    """

    codec = Codec.H264
    implementation = "FFmpeg h264"

    def __init__(self) -> None:
        self._context: VideoCodecContext | None = None
        self._held = b""
        self._needs_key = True

    def decode(self, data: bytes, *, capture_us: int = 0) -> Picture | None:
        """One access unit's picture; None for a unit of parameter sets alone, kept for the next.

        Raises RemoteError for a unit that is damaged, or that depends on one that was.
        """
        types = nal_types(data)
        if not types & SLICE_TYPES:
            self._hold(data, types)
            return None
        if self._needs_key and NalType.IDR not in types:
            raise RemoteError("an access unit that depends on a picture that was not decoded")
        unit, self._held = self._held + data, b""
        if self._context is None:
            self._context = _open_context()
        try:
            frames = self._context.decode(av.Packet(unit))
        except av.FFmpegError as error:
            self._needs_key = True
            raise RemoteError(f"undecodable H.264 access unit: {error.strerror}") from error
        self._needs_key = False
        return picture_from_frame(frames[-1], capture_us=capture_us) if frames else None

    def close(self) -> None:
        """Free the codec's memory; a later decode starts over at a key frame."""
        self._context = None
        self._held = b""
        self._needs_key = True

    def _hold(self, data: bytes, types: frozenset[int]) -> None:
        if not types & {NalType.SPS, NalType.PPS, NalType.SEI, NalType.DELIMITER}:
            raise RemoteError("no H.264 access unit in Annex B")
        self._held = (self._held + data)[-MAX_HELD_BYTES:]


def _open_context() -> VideoCodecContext:
    context = av.CodecContext.create("h264", "r")
    assert isinstance(context, VideoCodecContext)
    # Frame threads add a frame of delay each.
    context.thread_count = 1
    context.thread_type = ThreadType.SLICE
    context.flags |= Flags.low_delay
    context.options = {"err_detect": "explode", "max_pixels": str(MAX_PIXELS)}
    context.open()
    return context
