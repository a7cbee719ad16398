"""Two scenarios on the same link and seed, side by side."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ...codecs.errors import LocalError
from ...rtc.simulation.scenario import Table, shared_values
from ..json_file import write_json
from .single import prepare, simulate_into
from .tables import print_comparison


def compare(paths: Sequence[Path], tables: Sequence[Table], args: argparse.Namespace) -> int:
    """Run both, each into a folder of its own, then tabulate both and write compare.json.

    Raises LocalError for scenarios that differ in more than their policies.
    """
    _check_same_ground(tables)
    labels = [path.stem for path in paths]
    if labels[0] == labels[1]:
        labels = [f"{label}-{number}" for number, label in enumerate(labels, start=1)]
    requests = [prepare(table, args) for table in tables]
    console = Console()
    summaries = {
        label: simulate_into(request, args.out / label, console=console)
        for label, request in zip(labels, requests, strict=True)
    }
    write_json(args.out / "compare.json", summaries)
    print_comparison(summaries, console=console)
    return 0


def _check_same_ground(tables: Sequence[Table]) -> None:
    one, other = (shared_values(table) for table in tables)
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            raise LocalError(
                f"{name} is {one.get(name, 'not set')} in one scenario and "
                f"{other.get(name, 'not set')} in the other: set it for both by an option"
            )
