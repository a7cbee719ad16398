"""Several policies over several links, side by side: the same scenario and seed, two runs at a time."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from ...codecs.errors import LocalError
from ...rtc.simulation.scenario import Table, set_value
from ..evaluate.job import RunFailure
from ..evaluate.pool import run_in_processes
from ..json_file import write_json
from .policy_table import policy_rows, print_policies
from .single import prepare, simulate_into

POLICIES: Mapping[str, tuple[str, str]] = {
    "codecpilot": ("cc", "codecpilot"),
    "gcc": ("cc", "gcc"),
    "remb": ("cc", "remb"),
    "none": ("cc", "none"),
    "aiortc": ("stack", "aiortc"),
}
"""What each sets of both peers."""

# ours: a machine that holds calls beside this keeps a processor or two.
MAX_WORKERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run, for a worker process: the scenario's values, and the command's other options."""

    values: Table
    args: argparse.Namespace
    folder: Path


def compare_policies(
    policies: Sequence[str], traces: Sequence[Path], table: Table, args: argparse.Namespace
) -> int:
    """Run each policy over each trace (none: the scenario's own link), and tabulate a's pictures.

    A trace stands for the link from a to b; the other one is the scenario's. Each run has a folder
    of its own. Raises LocalError for a wrong request or a run that failed.
    """
    grid = [(link, policy) for link in _links(traces) for policy in policies]
    jobs = [
        Job(
            values=_values(table, link=link, policy=policy, traces=traces),
            args=args,
            folder=args.out / link / policy if traces else args.out / policy,
        )
        for link, policy in grid
    ]
    for job in jobs:
        prepare(job.values, args)
    console = Console()
    summaries = _run(jobs, workers=min(MAX_WORKERS, args.workers), console=console)
    rows = policy_rows(dict(zip(grid, summaries, strict=True)))
    write_json(args.out / "policies.json", {"rows": rows})
    print_policies(rows, console=console)
    return 0


def run_job(job: Job, report: Callable[[float], None]) -> Table | LocalError:
    """A worker's work: every file of a run, and its summary."""
    report(0.0)
    try:
        request = prepare(job.values, job.args)
        return simulate_into(request, job.folder, console=Console(file=io.StringIO()))
    except LocalError as error:
        return error


def _links(traces: Sequence[Path]) -> list[str]:
    names = [path.name for path in traces]
    if len(set(names)) < len(names):
        raise LocalError("--traces: two of the files have the same name")
    return names or ["link"]


def _values(table: Table, *, link: str, policy: str, traces: Sequence[Path]) -> Table:
    values = deepcopy(table)
    set_value(values, *POLICIES[policy])
    for path in traces:
        if path.name == link:
            set_value(values, "ab.trace", str(path))
    return values


def _run(jobs: Sequence[Job], *, workers: int, console: Console) -> list[Table]:
    outcomes: list[Any] = [None] * len(jobs)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("simulating", total=len(jobs))
        runs = run_in_processes(
            jobs, workers=workers, progress=lambda index, part: None, work=run_job
        )
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
