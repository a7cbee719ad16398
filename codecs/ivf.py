"""IVF files: a 32-byte header, then each temporal unit with its size and timestamp.

Layout as FFmpeg's ivfenc.c and libaom's ivfenc.c write it, little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO, Self

from .errors import LocalError, RemoteError

_FILE = struct.Struct("<4sHH4sHHIII4x")
_FRAME = struct.Struct("<IQ")
_MAGIC, _FOURCC = b"DKIF", b"AV01"
_COUNT_OFFSET = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class IvfHeader:
    """Size in px and ticks a second of the timestamps. frames is 0 in files of unknown length."""

    width: int
    height: int
    timebase_hz: int
    frames: int


class IvfWriter:
    """Writes temporal units to a seekable binary file, whose frame count close() fills in.

    Also a context manager. The file stays the caller's to close.
    """

    def __init__(
        self, file: BinaryIO, *, width: int, height: int, timebase_hz: int = 1_000_000
    ) -> None:
        if not (0 < width < 1 << 16 and 0 < height < 1 << 16):
            raise LocalError(f"IVF holds sizes of 1..65535 a side, not {width}x{height}")
        self._file = file
        self._frames = 0
        file.write(_FILE.pack(_MAGIC, 0, _FILE.size, _FOURCC, width, height, timebase_hz, 1, 0))

    def write(self, data: bytes, *, timestamp: int) -> None:
        """Append one temporal unit; timestamp counts ticks of the file's timebase."""
        self._file.write(_FRAME.pack(len(data), timestamp) + data)
        self._frames += 1

    def close(self) -> None:
        """Write the frame count into the header. May be called twice."""
        end = self._file.seek(0, 2)
        self._file.seek(_COUNT_OFFSET)
        self._file.write(struct.pack("<I", self._frames))
        self._file.seek(end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_ivf_header(file: BinaryIO) -> IvfHeader:
    """Read the header at the file's position. Raises RemoteError for anything but AV1 in IVF."""
    raw = file.read(_FILE.size)
    if len(raw) < _FILE.size:
        raise RemoteError(f"IVF header of {len(raw)} bytes; {_FILE.size} are needed")
    magic, version, length, fourcc, width, height, rate, scale, frames = _FILE.unpack(raw)
    if magic != _MAGIC or version != 0 or length < _FILE.size:
        raise RemoteError(f"not an IVF file: begins with {raw[:8].hex()}")
    if fourcc != _FOURCC:
        raise RemoteError(f"IVF of {fourcc!r}; {_FOURCC!r} is expected")
    if rate == 0 or scale == 0 or rate % scale:
        raise RemoteError(f"IVF timebase {scale}/{rate} s is not a whole number of Hz")
    file.read(length - _FILE.size)
    return IvfHeader(width=width, height=height, timebase_hz=rate // scale, frames=frames)


def read_ivf_frames(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Timestamps and temporal units behind the header. Raises RemoteError for a cut-off one."""
    while raw := file.read(_FRAME.size):
        if len(raw) < _FRAME.size:
            raise RemoteError(f"IVF frame header of {len(raw)} bytes; {_FRAME.size} are needed")
        size, timestamp = _FRAME.unpack(raw)
        data = file.read(size)
        if len(data) < size:
            raise RemoteError(f"IVF frame of {size} bytes ends after {len(data)}")
        yield timestamp, data
