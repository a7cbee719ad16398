"""Several policies over several links, side by side: the same scenario and seed, two runs at a time."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path

from rich.console import Console

from ...codecs.errors import LocalError
from ...rtc.simulation.scenario import Table, set_value
from ..json_file import write_json
from .policy_table import policy_rows, print_policies
from .runs import Job, run_jobs
from .single import prepare, simulate_into

POLICIES: Mapping[str, tuple[str, str]] = {
    "codecpilot": ("cc", "codecpilot"),
    "gcc": ("cc", "gcc"),
    "remb": ("cc", "remb"),
    "none": ("cc", "none"),
    "nack": ("recovery", "nack"),
    "key": ("recovery", "key"),
    "aiortc": ("stack", "aiortc"),
}
"""What each sets of both peers."""


def compare_policies(
    policies: Sequence[str], *, traces: Sequence[Path], table: Table, args: argparse.Namespace
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
    summaries = run_jobs(jobs, work=run_job, console=console)
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
