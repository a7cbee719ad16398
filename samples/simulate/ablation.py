"""What each means against loss is worth: alone, and taken away, over losses and round-trip times."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from rich.console import Console

from ...codecs.errors import LocalError
from ...rtc.simulation.keys import LINK_KEYS, MAX_DELAY_MS, RUN_KEYS, number
from ...rtc.simulation.scenario import Table, set_value
from ..json_file import write_json
from ..text_file import write_text
from .ablation_table import Cell, ablation_rows, markdown, print_ablation
from .runs import Job, run_for_figures

_LTR_OFF = {"ltr": "off", "ltr_proactive": "off"}
_KEY = {"recovery": "key"}

STACKS: Mapping[str, Mapping[str, str]] = {
    "all": {},
    "no-layers": {"temporal_layers": "off"},
    "no-fec": {"fec": "off"},
    "no-nack": {"nack": "off"},
    "no-ltr": _LTR_OFF,
    "no-proactive": {"ltr_proactive": "off"},
    "layers": _KEY | {"temporal_layers": "auto"},
    "fec": _KEY | {"fec": "auto"},
    "nack": {"recovery": "nack"},
    "ltr": _KEY | {"ltr": "auto"},
    "proactive": _KEY | {"ltr": "auto", "ltr_proactive": "auto"},
    "key": _KEY,
}
"""What each sets of both peers. Proactive recovery goes on from references, so it is not alone without them."""

# ours: a hundred seeds of the whole grid take weeks; what is more is a slip of the finger.
MAX_SEEDS = 100
MAX_PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What to run: every stack in every cell, with every seed."""

    stacks: tuple[str, ...]
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]


def ablate(table: Table, args: argparse.Namespace) -> int:
    """Run the grid; tabulate what a sends to b and write ablation.json and ablation.md.

    Raises LocalError for a wrong request or a run that failed.
    """
    grid = read_grid(table, args)
    places = list(product(grid.cells, grid.stacks, grid.seeds))
    jobs = [
        Job(
            values=_values(table, cell=cell, stack=stack, seed=seed),
            args=args,
            folder=Path(f"{cell.loss_percent:g}%-{cell.burst}-{cell.rtt_ms:g}ms-{stack}-{seed}"),
        )
        for cell, stack, seed in places
    ]
    console = Console()
    runs = run_for_figures(jobs, console=console)
    rows = ablation_rows(zip(places, runs, strict=True))
    write_json(args.out / "ablation.json", {"rows": rows, "values": table})
    write_text(args.out / "ablation.md", markdown(rows))
    print_ablation(rows, console=console)
    return 0


def read_grid(table: Table, args: argparse.Namespace) -> Grid:
    """The command's options; bursts are those of --burst. Raises LocalError."""
    losses = _numbers("--losses", args.losses, high=MAX_PERCENT)
    rtts = _numbers("--rtts", args.rtts, high=2 * MAX_DELAY_MS)
    bursts = [str(LINK_KEYS["burst"].read("--burst", b)) for b in (args.burst or "1").split(",")]
    stacks = tuple(STACKS) if args.stacks is None else tuple(args.stacks.split(","))
    for stack in stacks:
        if stack not in STACKS or stacks.count(stack) > 1:
            raise LocalError(f"--stacks {args.stacks!r}: each once of {', '.join(STACKS)}")
    if not 1 <= args.seeds <= MAX_SEEDS:
        raise LocalError(f"--seeds {args.seeds} is outside 1..{MAX_SEEDS}")
    first = RUN_KEYS["seed"].read("seed", table.get("seed", 1))
    return Grid(
        stacks=stacks,
        cells=tuple(
            Cell(loss_percent=loss, burst=burst, rtt_ms=rtt)
            for burst, rtt, loss in product(bursts, rtts, losses)
            if loss or burst == bursts[0]
        ),
        seeds=tuple(range(first, first + args.seeds)),
    )


def _values(table: Table, *, cell: Cell, stack: str, seed: int) -> Table:
    values = deepcopy(table)
    settings: Table = {
        "seed": seed,
        "loss": str(cell.loss_percent / 100),
        "burst": cell.burst,
        "delay_ms": cell.rtt_ms / 2,
        **STACKS[stack],
    }
    for name, value in settings.items():
        set_value(values, name, value)
    return values


def _numbers(option: str, text: str, *, high: float) -> Sequence[float]:
    read = number(0, high)
    return [float(read(option, part)) for part in text.split(",")]
