"""Keys that models are signed with, as the command line and the environment name them."""

from __future__ import annotations

import os
from pathlib import Path

from ...codecs.errors import LocalError

VARIABLE = "CODECPILOT_MODEL_KEY"


def read_key(path: Path) -> bytes:
    """A key file's bytes. Raises LocalError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise LocalError(f"{path}: {error.strerror}") from error


def public_key(option: Path | None) -> bytes | None:
    """The key that models must be signed with; None when none is configured."""
    named = option or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    return None if named is None else read_key(named)
