"""The files of an evaluation: bitstream and frames.csv of each run, and results.json over all."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .job import FrameRow, Job, RunOutput
from .rates import US_PER_S

COLUMNS = (
    "index",
    "pts_ms",
    "bytes",
    "quantizer",
    "key",
    "temporal_id",
    "tries",
    "dropped",
    "width",
    "height",
    "encode_ms",
    "encode_cpu_ms",
    "vbv_ms",
    "target_bps",
    "psnr_y",
)
# What a new target is given before its segment's rate is counted (the project's bound says so).
SETTLE_US = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A run with its output and what results.json says of it."""

    job: Job
    output: RunOutput
    figures: dict[str, Any]


def write_run(folder: Path, job: Job, output: RunOutput) -> FinishedRun:
    """Write the run's files below folder. Raises OSError where that fails."""
    run_folder = folder / job.folder
    run_folder.mkdir(parents=True, exist_ok=True)
    stream = run_folder / f"video{job.codec.suffix}"
    table = run_folder / "frames.csv"
    stream.write_bytes(output.bitstream)
    table.write_text(frames_csv(output), newline="")
    figures = run_figures(job, output)
    figures["bitstream"] = stream.relative_to(folder).as_posix()
    figures["frames_csv"] = table.relative_to(folder).as_posix()
    return FinishedRun(job=job, output=output, figures=figures)


def frames_csv(output: RunOutput) -> str:
    """The table of frames; psnr_y is empty where it was not asked for."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    psnr = output.quality.psnr_frames
    for row in output.rows:
        writer.writerow(_cells(row, f"{psnr[row.index]:.4f}" if psnr else ""))
    return text.getvalue()


def run_figures(job: Job, output: RunOutput) -> dict[str, Any]:
    """Means and bounds over the run; see docs/evaluation.md for each."""
    rows = output.rows
    sent = [row for row in rows if not row.dropped]
    rates = job.rates
    return {
        "clip": job.clip.name,
        "codec": job.codec.name,
        "preset": job.codec.preset or None,
        "target_kbps": rates.steps[0][1] / 1000 if rates.is_constant else None,
        "schedule": rates.text,
        "kbps": round(_kbps(rows, 0, _end_us(rows)), 3),
        "psnr_y": _rounded(output.quality.psnr_y),
        "ssim": _rounded(output.quality.ssim, digits=6),
        "vmaf": _rounded(output.quality.vmaf),
        "encode_ms": round(float(np.mean([row.encode_us for row in rows])) / 1000, 4),
        "encode_cpu_ms": round(float(np.mean([row.encode_cpu_us for row in rows])) / 1000, 4),
        "vbv_ms": _vbv_ms(sent),
        "frames": len(rows),
        "dropped": len(rows) - len(sent),
        "longest_drop": _longest_drop(rows),
        "retries": sum(max(0, row.tries - 1) for row in rows),
        "key_frames": sum(row.key for row in sent),
        "quantizer": _mean_quantizer(sent),
        "width": job.clip.width,
        "height": job.clip.height,
        "segments": [] if rates.is_constant else _segments(job, rows),
    }


def _cells(row: FrameRow, psnr: str) -> list[Any]:
    return [
        row.index,
        _ms(row.pts_us),
        row.size_bytes,
        row.quantizer,
        int(row.key),
        row.temporal_id,
        row.tries,
        int(row.dropped),
        row.width,
        row.height,
        _ms(row.encode_us),
        _ms(row.encode_cpu_us),
        _ms(row.vbv_us),
        row.target_bps,
        psnr,
    ]


def _ms(time_us: int) -> str:
    return f"{time_us / 1000:.3f}"


def _rounded(value: float | None, *, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def _end_us(rows: Sequence[FrameRow]) -> int:
    """Where the last picture ends: it lasts as long as the mean one."""
    if len(rows) < 2:
        return rows[-1].pts_us + US_PER_S // 30
    span = rows[-1].pts_us - rows[0].pts_us
    return rows[-1].pts_us + max(1, span // (len(rows) - 1))


def _kbps(rows: Sequence[FrameRow], start_us: int, end_us: int) -> float:
    size = sum(row.size_bytes for row in rows if start_us <= row.pts_us < end_us)
    return size * 8 * 1000 / (end_us - start_us)


def _vbv_ms(sent: Sequence[FrameRow]) -> dict[str, float | None]:
    """Of the delay at each sent frame."""
    if not sent:
        return {"p50": None, "p95": None, "max": None}
    p50, p95, most = np.percentile([row.vbv_us for row in sent], (50, 95, 100)) / 1000
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3), "max": round(float(most), 3)}


def _mean_quantizer(rows: Sequence[FrameRow]) -> float | None:
    sent = [row.quantizer for row in rows if not row.dropped]
    return round(float(np.mean(sent)), 2) if sent else None


def _longest_drop(rows: Sequence[FrameRow]) -> int:
    runs = itertools.groupby(row.dropped for row in rows)
    return max((len(list(group)) for dropped, group in runs if dropped), default=0)


def _segments(job: Job, rows: Sequence[FrameRow]) -> list[dict[str, Any]]:
    """The rate of each step of the schedule from SETTLE_US after its start; null where it is over."""
    starts = [start for start, _ in job.rates.steps]
    ends = [*starts[1:], _end_us(rows)]
    return [
        _segment(rows, start, min(end, _end_us(rows)), target)
        for (start, target), end in zip(job.rates.steps, ends, strict=True)
    ]


def _segment(rows: Sequence[FrameRow], start: int, end: int, target: int) -> dict[str, Any]:
    begin = start + SETTLE_US
    kbps = _kbps(rows, begin, end) if end > begin else None
    return {
        "start_s": start / US_PER_S,
        "target_kbps": target / 1000,
        "kbps": _rounded(kbps, digits=3),
        "of_target": _rounded(None if kbps is None else kbps * 1000 / target),
        "quantizer": _mean_quantizer([row for row in rows if begin <= row.pts_us < end]),
    }
