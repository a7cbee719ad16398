"""Files of any size, plain or gzip, read in pieces of bounded size."""

from __future__ import annotations

import gzip
import hashlib
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from codecpilot.codecs.errors import LocalError

GZIP_MAGIC = b"\x1f\x8b"
# Ours: the longest line of the dumps seen has 22 kB; a call with 100 people would have 1 MB.
MAX_LINE_BYTES = 16 << 20
# Ours: a week of a call at a report a second; what unpacks to more is made to fill memory or disk.
MAX_BYTES = 4 << 30
READ_BYTES = 1 << 16

BinaryFile = IO[bytes] | gzip.GzipFile

# What a damaged gzip file raises while it is read.
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)


@contextmanager
def opened(path: Path) -> Iterator[BinaryFile]:
    """The file, unpacked where it is gzip. Raises LocalError where it cannot be read."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            # A pipe may never be written to, and is empty when it is read again.
            raise LocalError(f"cannot read {path}: a pipe or a device, not a file")
        with path.open("rb") as file:
            packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            file.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield unpacked
            else:
                yield file
    except DAMAGED:
        raise
    except OSError as error:
        raise LocalError(f"cannot read {path}: {error.strerror or error}") from error


def digest(path: Path) -> str:
    """SHA-256 of the file as it lies there. Raises LocalError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LocalError(f"cannot read {path}: {error.strerror or error}") from error


class Bounded:
    """A file that ends early, and counts why, where it is damaged or longer than MAX_BYTES."""

    def __init__(self, file: BinaryFile, counts: Counter[str]) -> None:
        self._file = file
        self._counts = counts
        self._left = MAX_BYTES

    def read(self, size: int = READ_BYTES) -> bytes:
        """Up to `size` bytes; nothing at the end."""
        return self._take(self._file.read, size)

    def readline(self, size: int) -> bytes:
        """Up to the end of the line, and up to `size` bytes."""
        return self._take(self._file.readline, size)

    def _take(self, read: Callable[[int], bytes], size: int) -> bytes:
        if self._left <= 0:
            self._counts["stopped_at_size_limit"] = 1
            return b""
        try:
            data = read(size)
        except DAMAGED:
            self._counts["truncated_file"] = 1
            self._left = 0
            return b""
        self._left -= len(data)
        return data


def lines(file: Bounded, counts: Counter[str]) -> Iterator[bytes]:
    """The lines with their line ends; those over MAX_LINE_BYTES are passed over and counted."""
    while line := file.readline(MAX_LINE_BYTES):
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        counts["lines_too_long"] += 1
        while line and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES)
