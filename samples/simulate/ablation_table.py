"""The figures of an ablation: a row for each means and each loss, as JSON, Markdown and on the terminal."""

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
    """One kind of loss at one round-trip time; burst is its mean length in packets, as it was written."""

    loss_percent: float
    burst: str
    rtt_ms: float


FIGURES: Mapping[str, Callable[[Figures], float | None]] = {
    # Who shows nothing at all does not freeze either.
    "freeze_s": lambda f: f["freeze_s"] if f["frames"]["shown"] else None,
    "freezes": lambda f: f["freeze_count"],
    "recovery_p50_ms": lambda f: f["recovery_ms"]["p50"],
    "e2e_p95_ms": lambda f: f["e2e_ms"]["p95"],
    "psnr_y_shown": lambda f: f["psnr_y_shown"],
    "kbps": lambda f: f["kbps"],
    "key_frames": lambda f: f["key_frames"],
}
DECIMALS = {"freeze_s": 2, "freezes": 1, "psnr_y_shown": 2, "key_frames": 1}
HEADINGS = ("frozen s", "freezes", "recovery", "e2e p95", "PSNR", "kbps", "keys")


def ablation_rows(runs: Iterable[tuple[tuple[Cell, str, int], Figures]]) -> list[Row]:
    """A row for each cell and stack: the means over seeds, and the figures of each under `runs`.

    runs gives a cell, a stack's name and a seed with the summary of their run, seeds innermost.
    """
    rows = []
    for (cell, stack), group in groupby(runs, key=lambda run: run[0][:2]):
        each = [(seed, _figures(summary)) for (_, _, seed), summary in group]
        rows.append(
            {
                "loss_percent": cell.loss_percent,
                "burst": cell.burst,
                "rtt_ms": cell.rtt_ms,
                "stack": stack,
                **{name: mean_of_known([figures[name] for _, figures in each]) for name in FIGURES},
                "runs": [{"seed": seed, **figures} for seed, figures in each],
            }
        )
    return rows


def print_ablation(rows: Sequence[Row], *, console: Console) -> None:
    """A table for each cell, on the terminal."""
    for title, group in groupby(rows, key=_title):
        table = Table(title=title, title_justify="left")
        table.add_column("means")
        for heading in HEADINGS:
            table.add_column(heading, justify="right", no_wrap=True)
        for row in group:
            table.add_row(row["stack"], *(_text(row, name) for name in FIGURES))
        console.print(table)
    console.print("a → b, means over seeds; recovery p50 and e2e p95 in ms", highlight=False)


def markdown(rows: Sequence[Row]) -> str:
    """A table for each burst and round-trip time: a line a stack, a column a loss."""
    lines = []
    for burst, rtt_ms in dict.fromkeys((row["burst"], row["rtt_ms"]) for row in rows):
        mine = [row for row in rows if (row["burst"], row["rtt_ms"]) == (burst, rtt_ms)]
        losses = list(dict.fromkeys(row["loss_percent"] for row in mine))
        cells = {(row["stack"], row["loss_percent"]): row for row in mine}
        lines += [
            f"RTT {rtt_ms:g} ms, {_kind(burst)}:",
            "",
            "| means | " + " | ".join(f"{loss:g} %" for loss in losses) + " |",
            "|---" * (len(losses) + 1) + "|",
        ]
        for stack in dict.fromkeys(row["stack"] for row in mine):
            line = " | ".join(_short(cells[stack, loss]) for loss in losses)
            lines.append(f"| {stack} | {line} |")
        lines.append("")
    return "\n".join(lines)


def _figures(summary: Figures) -> dict[str, float | None]:
    figures = summary["directions"]["a->b"]
    return {name: read(figures) for name, read in FIGURES.items()}


def _title(row: Row) -> str:
    return f"{row['loss_percent']:g} % lost, {_kind(row['burst'])}, RTT {row['rtt_ms']:g} ms"


def _kind(burst: str) -> str:
    return "at random" if burst == "1" else f"in bursts of {burst}"


def _text(row: Row, name: str) -> str:
    value = row[name]
    return "–" if value is None else f"{value:.{DECIMALS.get(name, 0)}f}"


def _short(row: Row) -> str:
    """Seconds frozen, e2e p95 in ms, key frames after the first."""
    keys = max(0, row["key_frames"] - 1)
    return f"{_text(row, 'freeze_s')} · {_text(row, 'e2e_p95_ms')} · {keys:g}"
