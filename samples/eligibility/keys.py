"""Keys that models are signed with, as the command line and the environment name them."""

from __future__ import annotations

import os
from pathlib import Path

from ...codecs.errors import LocalError

VARIABLE = "CODECPILOT_MODEL_KEY"
# Ours: an Ed25519 key in PEM has under 200.
MAX_KEY_BYTES = 1 << 16


def read_key(path: Path) -> bytes:
    """A key file's bytes. Raises LocalError."""
    try:
        with path.open("rb") as file:
            key = file.read(MAX_KEY_BYTES + 1)
    except OSError as error:
        raise LocalError(f"{path}: {error.strerror}") from error
    if len(key) > MAX_KEY_BYTES:
        raise LocalError(f"{path} is over {MAX_KEY_BYTES} bytes, no key is")
    return key


def public_key(option: Path | None) -> bytes | None:
    """The key that models must be signed with; None when none is configured."""
    named = option or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    return None if named is None else read_key(named)
