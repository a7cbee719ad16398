"""Policies side by side: a row a link and policy, beside what plain GCC does on the same link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.console import Console
from rich.table import Table

Figures = Mapping[str, Any]
Row = dict[str, Any]

BASELINE = "gcc"
COLUMNS: Mapping[str, str] = {
    "policy": "policy",
    "utilisation": "used",
    "utilisation_ratio": "÷ gcc",
    "queue_p95_ms": "queue",
    "queue_p95_ratio": "÷ gcc",
    "queue_loss": "lost",
    "freeze_s": "frozen",
    "psnr_y_shown": "PSNR",
    "kbps": "kbps",
}
DECIMALS = {"queue_p95_ms": 0, "freeze_s": 1, "psnr_y_shown": 1, "kbps": 0}


def policy_rows(summaries: Mapping[tuple[str, str], Figures]) -> list[Row]:
    """A row for each (link, policy) of what a sent to b, then each policy's means.

    Ratios are None without plain GCC.
    """
    rows = {cell: _row(each, link=cell[0], policy=cell[1]) for cell, each in summaries.items()}
    for (link, _), row in rows.items():
        base = rows.get((link, BASELINE))
        for name in ("utilisation", "queue_p95_ms"):
            ratio = name.removesuffix("_ms") + "_ratio"
            row[ratio] = None if base is None else _divided(row[name], base[name])
    links = {link for link, _ in rows}
    if len(links) < 2:
        return list(rows.values())
    policies = dict.fromkeys(policy for _, policy in rows)
    means = [_mean(policy, [r for (_, p), r in rows.items() if p == policy]) for policy in policies]
    return [*rows.values(), *means]


def print_policies(rows: Sequence[Row], *, console: Console) -> None:
    """A table a link, and one of the means, on the terminal."""
    for link, group in groupby(rows, key=itemgetter("link")):
        runs = list(group)
        title = f"{link}: {runs[0]['outage_s']:g} s of outages"
        table = Table(title=title, title_justify="left")
        for name, heading in COLUMNS.items():
            is_text = name == "policy"
            table.add_column(heading, justify="left" if is_text else "right", no_wrap=True)
        for row in runs:
            table.add_row(*(_cell(row[name], DECIMALS.get(name, 3)) for name in COLUMNS))
        console.print(table)
    console.print(
        "a → b: used of capacity or need, queue delay p95 in ms, lost to the queue, frozen in s",
        highlight=False,
    )


def _cell(value: str | float | None, decimals: int) -> str:
    if isinstance(value, str) or value is None:
        return value or "–"
    return f"{value:.{decimals}f}"


def _row(summary: Figures, *, link: str, policy: str) -> Row:
    figures, outage_s = summary["directions"]["a->b"], summary["links"]["ab"]["outage_s"]
    return {
        "link": link,
        "policy": policy,
        "utilisation": figures["utilisation_of_need"],
        "queue_p95_ms": figures["queue_delay_ms"]["p95"],
        "queue_loss": figures["queue_loss_ratio"],
        # Who shows nothing at all does not freeze either.
        "freeze_s": figures["freeze_s"] if figures["frames"]["shown"] else None,
        "outage_s": outage_s,
        "psnr_y_shown": figures["psnr_y_shown"],
        "kbps": figures["kbps"],
    }


def _mean(policy: str, rows: Sequence[Row]) -> Row:
    mean: Row = {"link": "mean", "policy": policy}
    for name in (*COLUMNS, "outage_s"):
        values = [row[name] for row in rows]
        if name not in mean:
            known = [value for value in values if value is not None]
            mean[name] = round(sum(known) / len(known), 4) if known else None
    return mean


def _divided(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else round(value / base, 3)
