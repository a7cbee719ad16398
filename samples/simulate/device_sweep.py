"""Adaptation against fixed presets, on devices from fast to slow."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

from rich.console import Console

from ...codecs.av1_presets import PRESETS
from ...codecs.errors import LocalError
from ...rtc.adaptation.operations import AUTO
from ...rtc.simulation.keys import MAX_FACTOR, PEER_KEYS, WEBRTC, number
from ...rtc.simulation.scenario import Table, set_value
from ..json_file import write_json
from ..text_file import write_text
from .device_table import Cell, device_rows, markdown, print_devices
from .runs import Job, run_for_figures

ADAPTIVE = "adaptive"
_FIXED = {"a.adaptation": "false"}

WAYS: Mapping[str, Mapping[str, str]] = {
    ADAPTIVE: {"a.preset": AUTO, "a.adaptation": "true"},
    "webrtc": {"a.preset": "default", "a.adaptation": WEBRTC},
    **{preset: _FIXED | {"a.preset": preset, "a.codec": "AV1"} for preset in PRESETS},
    "h264": _FIXED | {"a.preset": "default", "a.codec": "H264"},
}
"""What each sets of peer a, whose device is slow; b's is as fast as the costs say."""

# ours: half a thousand devices take days; what is more is a slip of the finger.
MAX_DEVICES = 500
MIN_STEP_RATIO = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What to run: every way of coding on every device, at every size."""

    ways: tuple[str, ...]
    sizes: tuple[str, ...]
    factors: tuple[float, ...]


def sweep_devices(table: Table, args: argparse.Namespace) -> int:
    """Run the sweep; tabulate what a sends to b and write devices.json and devices.md.

    Raises LocalError for a wrong request or a run that failed.
    """
    sweep = read_sweep(args)
    cells = [
        Cell(size=size, way=way, factor=factor)
        for size, way, factor in product(sweep.sizes, sweep.ways, sweep.factors)
    ]
    jobs = [
        Job(
            values=_values(table, cell),
            args=args,
            folder=Path(f"{cell.size}-{cell.way}-{cell.factor:g}"),
        )
        for cell in cells
    ]
    console = Console()
    runs = run_for_figures(jobs, console=console)
    rows = device_rows(zip(cells, runs, strict=True))
    write_json(args.out / "devices.json", {"rows": rows, "values": table})
    write_text(args.out / "devices.md", markdown(rows))
    print_devices(rows, console=console)
    return 0


def read_sweep(args: argparse.Namespace) -> Sweep:
    """The command's options. Raises LocalError."""
    ways = tuple(WAYS) if args.ways is None else tuple(args.ways.split(","))
    for way in ways:
        if way not in WAYS or ways.count(way) > 1:
            raise LocalError(f"--ways {args.ways!r}: each once of {', '.join(WAYS)}")
    sizes = tuple(args.sizes.split(","))
    for size in sizes:
        PEER_KEYS["size"].read("--sizes", size)
    return Sweep(ways=ways, sizes=sizes, factors=_factors(args.device_sweep))


def _factors(text: str) -> tuple[float, ...]:
    """FROM:TO:STEP: each factor is by STEP, a part of one, above the one before it; TO is among them."""
    parts = text.split(":")
    if len(parts) != 3:
        raise LocalError(f"--device-sweep {text!r} is not FROM:TO:STEP, such as 0.5:8:0.05")
    low, high = (_number(part, low=0.01, high=MAX_FACTOR) for part in parts[:2])
    step = _number(parts[2], low=MIN_STEP_RATIO, high=MAX_FACTOR)
    factors = []
    while low < high:
        factors.append(round(float(low), 3))
        low *= 1 + step
        if len(factors) >= MAX_DEVICES:
            raise LocalError(f"--device-sweep {text} is more than {MAX_DEVICES} devices")
    return (*factors, round(float(high), 3))


def _number(text: str, *, low: float, high: float) -> Fraction:
    value: Fraction = number(low, high)("--device-sweep", text)
    return value


def _values(table: Table, cell: Cell) -> Table:
    values = deepcopy(table)
    settings = {"a.size": cell.size, "a.device": str(cell.factor), **WAYS[cell.way]}
    for name, value in settings.items():
        set_value(values, name, value)
    return values
