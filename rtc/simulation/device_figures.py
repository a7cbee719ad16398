"""How a direction fared by its sender's device: times of encoding, late frames, switches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..percentile import percentile
from .call import Direction
from .records import BUSY, FrameRecord


def device_figures(direction: Direction, *, duration_us: int) -> dict[str, Any]:
    """encode_ms is of all tries at a picture, sent or not; the README says what the others count."""
    recorder, interval_us = direction.recorder, direction.interval_us
    return {
        "encode_ms": {
            f"p{percent}": None if us is None else round(us / 1000, 1)
            for percent in (50, 95)
            for us in (percentile(_encode_times_us(recorder.frames), percent),)
        },
        "late_frames": len(late_frames(recorder.frames, interval_us=interval_us)),
        "late_s": round(late_us(recorder.frames, interval_us=interval_us) / 1e6, 3),
        "codec_switches": recorder.decisions.codec_switches,
        "preset_switches": recorder.decisions.preset_switches,
        "size_switches": recorder.decisions.size_switches,
        "adaptations": recorder.adaptations.reasons(),
        "operations": recorder.adaptations.shares(duration_us),
    }


def late_frames(frames: Iterable[FrameRecord], *, interval_us: int) -> list[FrameRecord]:
    """Pictures whose encoding ended later than a frame interval after their capture, or never began.

    interval_us is that of captured pictures; where fewer are sent, theirs counts. Time in which a picture
    waited for the pacer alone is the path's, and does not count.
    """
    late: list[FrameRecord] = []
    free_us = 0
    for frame in frames:
        if frame.encoded_us is None or frame.encode_us is None:
            is_late = frame.skipped == BUSY
        else:
            waited_us = max(0, free_us - frame.capture_us)
            free_us = frame.encoded_us
            is_late = waited_us + frame.encoded_us - frame.encode_us > frame.every * interval_us
        if is_late:
            late.append(frame)
    return late


def late_us(frames: Iterable[FrameRecord], *, interval_us: int) -> int:
    """The time whose pictures were late."""
    return sum(f.every for f in late_frames(frames, interval_us=interval_us)) * interval_us


def _encode_times_us(frames: Iterable[FrameRecord]) -> Iterable[int]:
    return (
        f.encoded_us - f.encode_us
        for f in frames
        if f.encoded_us is not None and f.encode_us is not None
    )
