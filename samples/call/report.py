"""The figures of a finished call, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..version import codecpilot_version
from .options import CallOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a call came to; empty when it ended before anything was measured.

    stats are the entries of each side's getStats() at the end that tell of streams and of the path.
    """

    seconds: float = 0.0
    directions: list[dict[str, Any]] = field(default_factory=list)
    stats: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


def call_report(
    options: CallOptions, measured: Measured, *, recordings: Sequence[Path] = ()
) -> dict[str, Any]:
    """What --json writes."""
    return {
        "version": codecpilot_version(),
        "seconds": round(measured.seconds, 3),
        "settings": options.to_json(),
        "directions": measured.directions,
        "stats": measured.stats,
        "recordings": [str(path) for path in recordings],
    }


def print_report(report: dict[str, Any], *, console: Console | None = None) -> None:
    """A table of the directions, or a line when nothing was measured; then what was recorded."""
    console = console or Console()
    if report["directions"]:
        _print_directions(report, console)
    else:
        console.print("The call ended before anything was measured.")
    for path in report["recordings"]:
        console.print(f"recorded {path}", highlight=False, soft_wrap=True, markup=False)


def _print_directions(report: dict[str, Any], console: Console) -> None:
    table = Table(title=f"{report['seconds']:g} s measured", title_justify="left")
    table.add_column("")
    for figures in report["directions"]:
        table.add_column(f"{figures['from']} → {figures['to']}", justify="right")
    has_link = all(figures["link"] for figures in report["directions"])
    has_start = all(figures["start"] for figures in report["directions"])
    rows = {**(START_ROWS if has_start else {}), **ROWS, **(LINK_ROWS if has_link else {})}
    for name, cell in rows.items():
        table.add_row(name, *(cell(figures) for figures in report["directions"]))
    console.print(table)
    console.print("Two numbers of a time are its median and its 95th percentile.")
    if has_start and any(figures["start"]["simulated"] for figures in report["directions"]):
        console.print("The scores are of a model that was trained on a SIMULATED fleet.")


def _presets(decisions: list[dict[str, Any]]) -> str:
    """Of the last decision; how often codec, preset, size or pace changed."""
    if not decisions:
        return "–"
    return f"{decisions[-1]['preset']} ({len(decisions) - 1})"


def _scores(start: dict[str, Any]) -> str:
    sides = (start["sender"], start["receiver"])
    return " / ".join("–" if s is None else f"{s['rtc_score']:.2f} {s['tier']}" for s in sides)


def _began(start: dict[str, Any]) -> str:
    width, height = start["max_size"]
    return f"{start['codec']} {start['preset']}, up to {width}x{height} at {start['max_fps']}"


def spread(name: str) -> Callable[[dict[str, Any]], str]:
    """A cell of a time's median and 95th percentile."""

    def cell(figures: dict[str, Any]) -> str:
        return " / ".join("–" if v is None else f"{v:.1f}" for v in figures[name].values())

    return cell


ROWS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "codec": lambda f: f"{f['codec']} {f['width']}x{f['height']}",
    "preset (switches)": lambda f: _presets(f["adaptations"]),
    "bitrate": lambda f: f"{f['kbps']:.0f} kbps",
    "captured / encoded / shown": lambda f: f"{f['captured']} / {f['encoded']} / {f['shown']}",
    "freezes": lambda f: f"{f['freeze_count']} ({f['freeze_s']:g} s)",
    "latency, capture to shown, ms": spread("latency_ms"),
    "picture after sound, ms": spread("av_offset_ms"),
    "encode, ms": spread("encode_ms"),
    "decode, ms": spread("decode_ms"),
}
START_ROWS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "rtc_score, sender / receiver": lambda f: _scores(f["start"]),
    "start by the scores": lambda f: _began(f["start"]),
}
LINK_ROWS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "link: queue delay, ms": lambda f: spread("queue_delay_ms")(f["link"]),
    "link: utilisation": lambda f: f"{f['link']['utilisation'] or 0:.0%}",
    "link: packets / lost / dropped": lambda f: " / ".join(
        str(f["link"][f"packets_{name}"]) for name in ("offered", "lost", "dropped")
    ),
}
