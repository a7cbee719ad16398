"""The file that --json names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def check_json_path(path: Path | None) -> None:
    """Raises LocalError, before any work, when no file can be written there."""
    from ..codecs.errors import LocalError

    if path is None:
        return
    folder = path.absolute().parent
    try:
        if not folder.is_dir():
            raise LocalError(f"--json {path}: there is no folder {folder}")
        if path.is_dir():
            raise LocalError(f"--json {path}: a folder, not a file")
        _try_to_write(path)
    except OSError as error:
        raise LocalError(f"--json {path}: {error.strerror}") from error


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Raises LocalError when the file cannot be written."""
    from ..codecs.errors import LocalError

    try:
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise LocalError(f"cannot write {path}: {error.strerror}") from error


def _try_to_write(path: Path) -> None:
    is_new = not path.exists()
    if is_new or path.is_file():  # A pipe, say, is opened once.
        path.open("a").close()
    if is_new:
        path.unlink()
