"""What measured speeds mean for calls, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .machine import Library
    from .speed import Speed

FRAME_MS = 1000 / 30
# Ours: capture, packets, crypto and Python take 2 to 4 ms of CPU a frame at these sizes, and load is
# never even; a stage that needs more of its share than this drops pictures now and then.
USABLE_RATIO = 0.6


def verdict(speeds: Sequence[Speed], *, libraries: Sequence[Library], cores: float) -> list[str]:
    """One line a finding: what is missing, then what each size can do. speeds: fastest preset first."""
    words = [f"No {lib.role}: {lib.problem.splitlines()[0]}" for lib in _missing(libraries)]
    sizes = dict.fromkeys((speed.width, speed.height) for speed in speeds)
    for width, height in sizes:
        rows = [speed for speed in speeds if (speed.width, speed.height) == (width, height)]
        words.append(f"{width}x{height} at 30 fps: {_one_end(rows)} {_both_ends(rows, cores)}")
    return words


def _missing(libraries: Sequence[Library]) -> list[Library]:
    """Roles that nothing fills."""
    filled = {library.role for library in libraries if not library.problem}
    return [library for library in libraries if library.problem and library.role not in filled]


def _one_end(rows: Sequence[Speed]) -> str:
    """One end of a call: the encoder and the decoder each have a thread."""
    held = [row for row in rows if row.codec == "AV1" and row.encode_ms <= FRAME_MS * USABLE_RATIO]
    if not held:
        return "too slow for AV1; use H.264 or a smaller size."
    best = held[-1]
    return (
        f"AV1 in real time up to preset {best.preset} ({best.encode_ms:.1f} of {FRAME_MS:.0f} ms)."
    )


def _both_ends(rows: Sequence[Speed], cores: float) -> str:
    """`codecpilot call` runs both ends of a call here."""
    room_ms = cores * FRAME_MS * USABLE_RATIO
    held = [
        row for row in rows if row.codec == "AV1" and 2 * (row.encode_ms + row.decode_ms) <= room_ms
    ]
    if not held:
        return "codecpilot call runs both ends here and will skip pictures."
    best = held[-1]
    return f"codecpilot call, which runs both ends here, holds it up to preset {best.preset}."
