"""`codecpilot eligibility ingest`."""

from __future__ import annotations

import argparse

from rich.console import Console

from ...eligibility.ingest import Ingested, expand, ingest, totals
from ...eligibility.store import Store
from .progress import bar


def run(args: argparse.Namespace) -> int:
    """Read every file, say what became of each. Returns 1 when all were refused."""
    console = Console(highlight=False)
    with bar("files", total=max(1, len(expand(args.paths)))) as advance:

        def on_file(done: Ingested) -> None:
            console.print(_line(done), soft_wrap=True, markup=False)
            advance(1)

        done = ingest(args.paths, store=Store(args.store), on_file=on_file)
    refused = sum(each.refusal is not None for each in done)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(totals(done).items()))
    console.print(
        f"{sum(each.rows for each in done)} rows from {len(done) - refused} of {len(done)} files in "
        f"{args.store}" + (f": {counts}" if counts else ""),
        soft_wrap=True,
        markup=False,
    )
    return 1 if refused == len(done) else 0


def _line(done: Ingested) -> str:
    if done.refusal is not None:
        return f"{done.path}: refused: {done.refusal}"
    if done.known:
        return f"{done.path}: in the store already"
    return f"{done.path}: {done.rows} rows"
