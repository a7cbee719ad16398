"""Many runs in worker processes, with a bar of how many are done."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from ...codecs.errors import LocalError
from ...rtc.simulation.scenario import Table
from ..evaluate.job import RunFailure
from ..evaluate.pool import run_in_processes
from .single import figures_of, prepare

# ours: a machine that holds calls beside this keeps a processor or two.
MAX_WORKERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run, for a worker process: the scenario's values, and the command's other options.

    folder is where its files go, or what it is called where it leaves none.
    """

    values: Table
    args: argparse.Namespace
    folder: Path


Work = Callable[[Job, Callable[[float], None]], Any]
"""Does a job; a LocalError is returned, not raised, as it travels between processes."""


def run_jobs(jobs: Sequence[Job], *, work: Work, console: Console) -> list[Any]:
    """What each came to, in the order of the jobs. Raises LocalError for one that failed."""
    outcomes: list[Any] = [None] * len(jobs)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("simulating", total=len(jobs))
        workers = min(MAX_WORKERS, jobs[0].args.workers) if jobs else 1
        runs = run_in_processes(jobs, workers=workers, progress=lambda index, part: None, work=work)
        try:
            for index, outcome in runs:
                if isinstance(outcome, LocalError | RunFailure):
                    reason = outcome.reason if isinstance(outcome, RunFailure) else outcome
                    raise LocalError(f"{jobs[index].folder}: {reason}")
                outcomes[index] = outcome
                progress.advance(task)
        finally:
            runs.close()
    return outcomes


def run_for_figures(jobs: Sequence[Job], *, console: Console) -> list[Table]:
    """The figures of each run, in the order of the jobs; no run leaves a file.

    Raises LocalError for one that failed, and before any begins for a wrong request.
    """
    for job in jobs:
        prepare(job.values, job.args)
    return run_jobs(jobs, work=_figures, console=console)


def _figures(job: Job, report: Callable[[float], None]) -> Table | LocalError:
    report(0.0)
    try:
        return figures_of(prepare(job.values, job.args))
    except LocalError as error:
        return error
