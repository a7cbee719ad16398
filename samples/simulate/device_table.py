"""The figures of a sweep over devices: a row for each way of coding, as JSON, Markdown and on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from .means import mean_of_known

Figures = Mapping[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run: how pictures of which size are coded, on a device of which factor."""

    size: str
    way: str
    factor: float


FIGURES: Mapping[str, Callable[[Figures], float | None]] = {
    "psnr_y_shown": lambda f: f["psnr_y_shown"],
    "late_frames": lambda f: f["late_frames"],
    "late_s": lambda f: f["late_s"],
    "freeze_s": lambda f: f["freeze_s"] if f["frames"]["shown"] else None,
    "e2e_p95_ms": lambda f: f["e2e_ms"]["p95"],
    "encode_p95_ms": lambda f: f["encode_ms"]["p95"],
    "kbps": lambda f: f["kbps"],
    "codec_switches": lambda f: f["codec_switches"],
    "preset_switches": lambda f: f["preset_switches"],
    "size_switches": lambda f: f["size_switches"],
}
WORST = ("late_s", "codec_switches", "preset_switches", "size_switches")
"""Of these the most of any device is told, too."""
COLUMNS: Mapping[str, str] = {
    "psnr_y_shown": "PSNR",
    "late_frames": "late",
    "late_s_worst": "worst s",
    "freeze_s": "frozen s",
    "e2e_p95_ms": "e2e p95",
    "codec_switches_worst": "codec",
    "preset_switches_worst": "preset",
    "size_switches_worst": "size",
}
WHOLE = ("e2e_p95_ms", "codec_switches_worst", "preset_switches_worst", "size_switches_worst")
LEGEND = (
    "means over the devices of a: PSNR-Y shown in dB, late pictures (and seconds of them on the worst "
    "device), frozen seconds, e2e in ms; switches of codec, preset and size on the device with the most"
)
# ours: what fits side by side on a page.
MAX_COLUMNS = 9


def device_rows(runs: Iterable[tuple[Cell, Figures]]) -> list[Row]:
    """A row for each size and way: means over the devices, and each device's figures under `runs`.

    runs gives a cell with the summary of its run, factors innermost.
    """
    rows = []
    for (size, way), group in groupby(runs, key=lambda run: (run[0].size, run[0].way)):
        each = [_figures(cell, summary) for cell, summary in group]
        rows.append(
            {
                "size": size,
                "way": way,
                **{name: mean_of_known([figures[name] for figures in each]) for name in FIGURES},
                **{f"{name}_worst": max(figures[name] for figures in each) for name in WORST},
                "runs": each,
            }
        )
    return rows


def print_devices(rows: Sequence[Row], *, console: Console) -> None:
    """A table for each size, on the terminal."""
    for size, group in groupby(rows, key=lambda row: row["size"]):
        table = Table(title=size, title_justify="left")
        table.add_column("coded as", no_wrap=True)
        for heading in COLUMNS.values():
            table.add_column(heading, justify="right", no_wrap=True)
        for row in group:
            table.add_row(row["way"], *(_text(row, name) for name in COLUMNS))
        console.print(table)
    console.print(f"a → b, {LEGEND}", highlight=False)


def markdown(rows: Sequence[Row]) -> str:
    """For each size a table of means, and one of a line a way and a column a device."""
    lines = []
    for size, group in groupby(rows, key=lambda row: row["size"]):
        mine = list(group)
        lines += [f"{size}, {len(mine[0]['runs'])} devices; {LEGEND}:", ""]
        lines += _table(
            ["coded as", *COLUMNS.values()],
            [[row["way"], *(_text(row, name) for name in COLUMNS)] for row in mine],
        )
        shown = _thinned(mine[0]["runs"])
        lines += [f"{size}, PSNR-Y shown and seconds late on single devices:", ""]
        lines += _table(
            ["coded as", *(f"{mine[0]['runs'][i]['factor']:g}x" for i in shown)],
            [[row["way"], *(_short(row["runs"][i]) for i in shown)] for row in mine],
        )
    return "\n".join(lines)


def _figures(cell: Cell, summary: Figures) -> Row:
    figures = summary["directions"]["a->b"]
    return {
        "factor": cell.factor,
        **{name: read(figures) for name, read in FIGURES.items()},
        "operations": figures["operations"],
        "adaptations": figures["adaptations"],
    }


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    head = ["| " + " | ".join(headings) + " |", "|---" * len(headings) + "|"]
    return [*head, *("| " + " | ".join(line) + " |" for line in lines), ""]


def _thinned(runs: Sequence[Row]) -> list[int]:
    """Places of some devices, the first and the last among them, evenly between."""
    last = len(runs) - 1
    count = min(MAX_COLUMNS - 1, last)
    return [round(i * last / count) for i in range(count + 1)] if last else [0]


def _text(row: Row, name: str) -> str:
    value = row[name]
    return "–" if value is None else f"{value:.{0 if name in WHOLE else 2}f}"


def _short(run: Row) -> str:
    psnr = "–" if run["psnr_y_shown"] is None else f"{run['psnr_y_shown']:.1f}"
    return f"{psnr} · {run['late_s']:.1f}"
