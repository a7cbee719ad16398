"""Where installed wheels keep the shared libraries that they carry."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_FOLDERS = {"av": "av.libs", "cv2": "opencv_*.libs"}
"""auditwheel's and delvewheel's folder beside the package; it bears the distribution's name."""


def library_folders(package: str) -> list[Path]:
    """Folders with the shared libraries of an installed package; empty if it is not installed.

    Covers auditwheel (Linux), delocate (macOS, .dylibs) and delvewheel (Windows).
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return []
    home = Path(next(iter(spec.submodule_search_locations)))
    folders = [*sorted(home.parent.glob(_FOLDERS[package])), home / ".dylibs", home]
    return [folder for folder in folders if folder.is_dir()]


def carried_libraries(package: str, name: str) -> list[Path]:
    """Library files called name (such as "aom") that the package's wheel carries."""
    patterns = (f"lib{name}[-.]*so*", f"lib{name}.*dylib", f"lib{name}-*.dll", f"{name}-*.dll")
    files = {f for d in library_folders(package) for p in patterns for f in d.glob(p)}
    return sorted(files)
