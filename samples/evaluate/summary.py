"""All that an evaluation found, as results.json holds it."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import sys
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from ...codecs.libaom import find_libaom
from ..version import codecpilot_version
from .compare import bd_rates, cpu_ratios, means_over_clips
from .job import Job
from .options import Request
from .results import FinishedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A run that has no result."""

    job: Job
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Runs in the order of the request, and what follows from them."""

    request: Request
    runs: tuple[FinishedRun, ...]
    failures: tuple[Failed, ...]
    comparison: Comparison = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "comparison", compare_runs(self.runs, self.request))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Lists of records, as results.json has them; refused says which BD-rates are missing, and why."""

    bd_rate: list[dict[str, Any]]
    bd_rate_mean: list[dict[str, Any]]
    cpu_ratio: list[dict[str, Any]]
    cpu_ratio_mean: list[dict[str, Any]]
    refused: list[str]


def compare_runs(runs: tuple[FinishedRun, ...], request: Request) -> Comparison:
    """BD-rates and CPU ratios of all runs at constant rates."""
    rates, refused = bd_rates(runs, metrics=request.metrics)
    ratios = cpu_ratios(runs)
    return Comparison(
        bd_rate=rates,
        bd_rate_mean=means_over_clips(rates, value="percent"),
        cpu_ratio=ratios,
        cpu_ratio_mean=means_over_clips(ratios, value="ratio"),
        refused=refused,
    )


def results_json(evaluation: Evaluation) -> dict[str, Any]:
    """The whole of results.json."""
    comparison = evaluation.comparison
    return {
        "codecpilot": codecpilot_version(),
        "made": made(evaluation.request),
        "runs": [run.figures for run in evaluation.runs],
        "failures": [
            {
                "clip": failed.job.clip.name,
                "codec": failed.job.codec.name,
                "preset": failed.job.codec.preset or None,
                "rate": failed.job.rates.label,
                "reason": failed.reason,
            }
            for failed in evaluation.failures
        ],
        "bd_rate": comparison.bd_rate,
        "bd_rate_mean": comparison.bd_rate_mean,
        "bd_rate_missing": comparison.refused,
        "cpu_ratio": comparison.cpu_ratio,
        "cpu_ratio_mean": comparison.cpu_ratio_mean,
    }


def made(request: Request) -> dict[str, Any]:
    """How, when and where the figures came about."""
    return {
        "command": shlex.join(["codecpilot", *sys.argv[1:]]),
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "seed": request.read.seed,
        "jobs": request.workers if request.dask is None else None,
        "dask": request.dask,
        "libaom": find_libaom().version,
        "pyav": metadata.version("av"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
    }
