"""A real limit on the CPU time of processes, by Linux's control groups, where this user may set one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# Short, so that a limited process is slow and does not stand still for long.
PERIOD_US = 10_000
MOUNTS = Path("/proc/mounts")


class CpuLimit:
    """A control group of ours; its processes share what set() gives them."""

    def __init__(self, folder: Path, *, is_v2: bool) -> None:
        self._folder = folder
        self._is_v2 = is_v2

    def set(self, cpus: float | None) -> None:
        """So many processors' time and no more; None takes the limit away."""
        quota = None if cpus is None else max(1000, int(cpus * PERIOD_US))
        if self._is_v2:
            (self._folder / "cpu.max").write_text(f"{quota or 'max'} {PERIOD_US}")
        else:
            (self._folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self._folder / "cpu.cfs_quota_us").write_text(str(quota or -1))

    def add(self, pid: int) -> None:
        """Move a process with all its threads under the limit."""
        (self._folder / "cgroup.procs").write_text(str(pid))


@contextmanager
def cpu_limit() -> Iterator[CpuLimit]:
    """A group without a limit to begin with; skips the test where none can be made."""
    reasons = []
    for parent, is_v2 in _parents():
        folder = parent / f"codecpilot-test-{os.getpid()}"
        limit = CpuLimit(folder, is_v2=is_v2)
        try:
            folder.mkdir()
            limit.set(1.0)
            limit.set(None)
        except OSError as error:
            reasons.append(f"{folder}: {error.strerror}")
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        try:
            yield limit
        finally:
            _leave(folder, parent=parent)
        return
    pytest.skip(f"no limit on CPU time can be set ({'; '.join(reasons) or 'no control groups'})")


def _parents() -> Iterator[tuple[Path, bool]]:
    """Where a group with a CPU controller can be made, version 1 first: where both are mounted it has it."""
    mounts = [line.split() for line in MOUNTS.read_text().splitlines()] if MOUNTS.exists() else []
    for _, place, kind, options, *_ in mounts:
        if kind == "cgroup" and "cpu" in options.split(","):
            yield Path(place), False
    for _, place, kind, *_ in mounts:
        if kind == "cgroup2":
            yield Path(place), True


def _leave(folder: Path, *, parent: Path) -> None:
    for pid in (folder / "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):
            (parent / "cgroup.procs").write_text(pid)
    folder.rmdir()
