"""The libraries that a store needs and a scoring client does not."""

from __future__ import annotations

from importlib.util import find_spec

from codecpilot.codecs.errors import LocalError

LIBRARIES = ("duckdb", "ibis", "ijson", "pandas", "pyarrow")
INSTALL = ".venv/bin/pip install -e '.[eligibility]'"
"""In the checkout."""


def require_extra() -> None:
    """Raise LocalError, saying what to install, where the eligibility extra is not installed."""
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise LocalError(f"telemetry needs {', '.join(missing)}: {INSTALL}")
