"""Reads and writes the texts that a command line names."""

from __future__ import annotations

from pathlib import Path

from ..codecs.errors import LocalError


def read_text(path: str) -> str:
    """A file's text. Raises LocalError."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise LocalError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LocalError(f"{path} is not a text") from error
    except ValueError as error:  # a NUL in the path
        raise LocalError(f"{path!r} is no path of a file") from error


def write_text(path: Path, text: str) -> None:
    """Write a file anew. Raises LocalError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LocalError(f"cannot write {path}: {error.strerror}") from error
