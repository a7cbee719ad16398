"""`codecpilot eligibility compare`."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...eligibility.models.client import ClientModel
from ...eligibility.models.comparison import Change, compare
from ...eligibility.models.registry import load_client
from .keys import public_key

SHOWN = 30


def run(args: argparse.Namespace) -> int:
    """Print the devices that change side. Raises LocalError."""
    key = public_key(args.key)
    before = load_client(args.before, public_key=key)
    print_comparison(Console(highlight=False), before, load_client(args.after, public_key=key))
    return 0


def print_comparison(console: Console, before: ClientModel, after: ClientModel) -> None:
    """How many gain and lose AV1 for a call of 640x360 at 30 fps, and the largest changes."""
    comparison = compare(before, after)
    gains = sum(change.gains for change in comparison.changes)
    console.print(
        f"of {comparison.compared} device models ({comparison.new} new) {gains} gain AV1 and "
        f"{len(comparison.changes) - gains} lose it"
    )
    if comparison.changes:
        console.print(_table(comparison.changes[:SHOWN]))
    if len(comparison.changes) > SHOWN:
        console.print(f"and {len(comparison.changes) - SHOWN} more")


def _table(changes: list[Change]) -> Table:
    table = Table("device", "", "score", "why", box=None)
    for change in changes:
        scores = f"{change.before.rtc_score:.2f} → {change.after.rtc_score:.2f}"
        table.add_row(
            escape(change.name), "gains" if change.gains else "loses", scores, escape(change.why)
        )
    return table
