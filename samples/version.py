"""Which codecpilot runs."""

from __future__ import annotations

from importlib import metadata


def codecpilot_version() -> str:
    """The version of the installed package, or "unknown" when it runs without being installed."""
    try:
        return metadata.version("codecpilot")
    except metadata.PackageNotFoundError:
        return "unknown"
