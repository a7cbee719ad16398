"""VMAF through the ffmpeg of imageio-ffmpeg (evaluation extra), which has libvmaf built in.

Both pictures of a pair go through one pipe, the reference first, so that frames are matched here
and not by timestamps, and neither clip is held in memory or on disk.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO

from .errors import LocalError
from .pictures import i420_from_picture
from .types import Picture

# Ours: a pair of 1920x1080 takes 0.1 s; a ffmpeg that moves nothing for this long is stuck.
STALL_S = 60.0
# libvmaf's default, trained for 1080p on a television; escaped for a filter graph.
MODEL = r"version\\=vmaf_v0.6.1"

INSTALL_EVALUATION = ".venv/bin/pip install -e '.[evaluation]'"
"""What installs the evaluation extra, in the checkout."""

MIN_SIDE_PX = 32  # ours: libvmaf crashes at 16, and its four scales mean little below this

Size = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class VmafScore:
    """mean is over frames; frames has the score of every subsample-th picture, from the first."""

    mean: float
    frames: tuple[float, ...]


def vmaf(
    reference: Iterable[Picture],
    distorted: Iterable[Picture],
    *,
    fps: Fraction | int,
    subsample: int = 1,
    threads: int = 1,
) -> VmafScore:
    """Score pairs of pictures of one size, 0 to 100; identical clips give some 97 to 100.

    Raises LocalError for clips of different length or size or without pictures, for sizes below
    MIN_SIDE_PX, and where the evaluation extra is missing.
    """
    if subsample < 1 or threads < 1:
        raise LocalError(f"subsample {subsample} and threads {threads} are at least 1")
    if not 0 < fps <= 1000:
        raise LocalError(f"fps {fps} is outside (0, 1000]")
    executable = _ffmpeg()
    pairs = _pairs(reference, distorted)
    first = next(pairs, None)
    if first is None:
        raise LocalError("no pictures to score")
    size = (first[0].width, first[0].height)
    if min(size) < MIN_SIDE_PX:
        raise LocalError(f"VMAF needs {MIN_SIDE_PX} px a side, got {size[0]}x{size[1]}")
    with tempfile.TemporaryDirectory(prefix="codecpilot-vmaf-") as folder:
        command = _command(executable, size=size, fps=fps, subsample=subsample, threads=threads)
        _run(command, Path(folder), _checked([first], pairs, size))
        return _score(Path(folder) / "vmaf.json")


def _ffmpeg() -> str:
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        raise LocalError(f"VMAF needs the evaluation extra: {INSTALL_EVALUATION}") from error


def _pairs(
    reference: Iterable[Picture], distorted: Iterable[Picture]
) -> Iterator[tuple[Picture, Picture]]:
    try:
        yield from zip(reference, distorted, strict=True)
    except ValueError as error:
        if isinstance(error, LocalError) or "zip()" not in str(error):
            raise
        raise LocalError("the two clips have different numbers of pictures") from error


def _checked(
    first: list[tuple[Picture, Picture]], rest: Iterator[tuple[Picture, Picture]], size: Size
) -> Iterator[bytes]:
    for pairs in (first, rest):
        for pair in pairs:
            for picture in pair:
                if (picture.width, picture.height) != size:
                    raise LocalError(
                        f"a picture of {picture.width}x{picture.height} among {size[0]}x{size[1]}"
                    )
                yield i420_from_picture(picture)


def _command(
    executable: str, *, size: Size, fps: Fraction | int, subsample: int, threads: int
) -> list[str]:
    # The pipe alternates: even pictures are the reference, odd ones what became of it.
    graph = (
        "[0:v]split[even][odd];"
        "[even]select='not(mod(n,2))',setpts=N[reference];"
        "[odd]select='mod(n,2)',setpts=N[distorted];"
        f"[distorted][reference]libvmaf=model={MODEL}:log_fmt=json:log_path=vmaf.json"
        f":n_subsample={subsample}:n_threads={threads}"
    )
    source = f"-f rawvideo -pix_fmt yuv420p -video_size {size[0]}x{size[1]} -framerate {fps} -i -"
    return [
        *(executable, "-hide_banner", "-nostats", "-loglevel", "error"),
        *source.split(),
        *("-filter_complex", graph, "-fps_mode", "passthrough", "-f", "null", "-"),
    ]


def _run(command: list[str], folder: Path, blocks: Iterator[bytes]) -> None:
    errors = folder / "errors.txt"
    with errors.open("wb") as error_file:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=error_file, stderr=error_file
        )
        assert process.stdin is not None
        with process, _watchdog(process) as alive:
            try:
                _feed(process.stdin, blocks, alive)
                process.wait()
            finally:
                # Still alive only when the caller's pictures failed; its pipe may hold a block.
                process.kill()
                with suppress(BrokenPipeError):
                    process.stdin.close()
    if process.returncode:
        lines = errors.read_text(errors="replace").strip().splitlines()
        raise LocalError(f"ffmpeg's libvmaf failed: {lines[-1] if lines else 'killed as stuck'}")


def _feed(pipe: IO[bytes], blocks: Iterator[bytes], alive: threading.Event) -> None:
    # A broken pipe: ffmpeg ended early, and its return code and message tell why.
    with suppress(BrokenPipeError):
        for block in blocks:
            pipe.write(block)
            alive.set()
        pipe.close()


@contextmanager
def _watchdog(process: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
    """Kill the process when the event was not set for STALL_S."""
    alive, ended = threading.Event(), threading.Event()

    def watch() -> None:
        while not ended.wait(STALL_S):
            if not alive.is_set():
                process.kill()
                return
            alive.clear()

    thread = threading.Thread(target=watch, name="vmaf-watchdog", daemon=True)
    thread.start()
    try:
        yield alive
    finally:
        ended.set()
        thread.join()


def _score(path: Path) -> VmafScore:
    try:
        log = json.loads(path.read_text())
        # libvmaf lists skipped frames too, without a score.
        scores = [frame["metrics"].get("vmaf") for frame in log["frames"]]
        mean = float(log["pooled_metrics"]["vmaf"]["mean"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LocalError(f"ffmpeg's libvmaf left no result: {error}") from error
    return VmafScore(mean=mean, frames=tuple(float(s) for s in scores if s is not None))
