"""BD-rates and CPU ratios: every codec against every anchor, clip by clip and over all clips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...codecs.bd_rate import Point, bd_rate
from ...codecs.errors import LocalError
from .codec_specs import CodecSpec
from .results import FinishedRun

FIELDS = {"vmaf": "vmaf", "psnr": "psnr_y", "ssim": "ssim"}
"""The field of a run that holds each metric."""


def bd_rates(
    runs: Sequence[FinishedRun], *, metrics: Sequence[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The "bd_rate" of results.json, and why those that are missing could not be computed."""
    found: list[dict[str, Any]] = []
    refused: dict[str, None] = {}
    for clip, anchor, codec in _comparisons(runs):
        for metric in metrics:
            curves = [_curve(runs, clip, spec, metric) for spec in (anchor, codec)]
            try:
                result = bd_rate(*curves)
            except LocalError as error:
                refused[f"{clip}, {codec.label} against {anchor.label}, {metric}: {error}"] = None
                continue
            found.append(
                {
                    "clip": clip,
                    "anchor": anchor.label,
                    "codec": codec.label,
                    "metric": metric,
                    "percent": round(result.percent, 3),
                    "overlap": round(result.overlap, 4),
                }
            )
    return found, list(refused)


def cpu_ratios(runs: Sequence[FinishedRun]) -> list[dict[str, Any]]:
    """Encoding time of each codec over each anchor's at the same constant targets of a clip."""
    found: list[dict[str, Any]] = []
    for clip, anchor, codec in _comparisons(runs):
        times = [_cpu_ms(runs, clip, spec) for spec in (anchor, codec)]
        common = times[0].keys() & times[1].keys()
        base = sum(times[0][target] for target in common)
        if base:
            ratio = sum(times[1][target] for target in common) / base
            found.append(
                {
                    "clip": clip,
                    "anchor": anchor.label,
                    "codec": codec.label,
                    "ratio": round(ratio, 4),
                }
            )
    return found


def means_over_clips(entries: Iterable[dict[str, Any]], *, value: str) -> list[dict[str, Any]]:
    """Mean of the value over clips, for each anchor, codec and metric; clips says over how many."""
    groups: dict[tuple[str, ...], list[float]] = {}
    names = ("anchor", "codec", "metric") if value == "percent" else ("anchor", "codec")
    for entry in entries:
        groups.setdefault(tuple(entry[name] for name in names), []).append(entry[value])
    return [
        {
            **dict(zip(names, group, strict=True)),
            value: round(sum(values) / len(values), 3),
            "clips": len(values),
        }
        for group, values in groups.items()
    ]


def _constant(runs: Iterable[FinishedRun]) -> Iterable[FinishedRun]:
    return (run for run in runs if run.job.rates.is_constant)


def _comparisons(runs: Sequence[FinishedRun]) -> list[tuple[str, CodecSpec, CodecSpec]]:
    """Clip, anchor and codec of all that is to be compared, in the order of the runs."""
    clips: dict[str, dict[CodecSpec, None]] = {}
    for run in _constant(runs):
        clips.setdefault(run.job.clip.name, {})[run.job.codec] = None
    return [
        (clip, anchor, codec)
        for clip, codecs in clips.items()
        for anchor in codecs
        if anchor.is_anchor
        for codec in codecs
        if codec != anchor
    ]


def _of(runs: Sequence[FinishedRun], clip: str, spec: CodecSpec) -> list[FinishedRun]:
    return [r for r in _constant(runs) if r.job.clip.name == clip and r.job.codec == spec]


def _curve(runs: Sequence[FinishedRun], clip: str, spec: CodecSpec, metric: str) -> list[Point]:
    """By the rate that was really sent."""
    figures = (run.figures for run in _of(runs, clip, spec))
    return [(f["kbps"] * 1000, f[FIELDS[metric]]) for f in figures if f["kbps"]]


def _cpu_ms(runs: Sequence[FinishedRun], clip: str, spec: CodecSpec) -> dict[float, float]:
    figures = (run.figures for run in _of(runs, clip, spec))
    return {f["target_kbps"]: f["encode_cpu_ms"] for f in figures}
