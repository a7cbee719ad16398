"""The figures of runs as tables on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from .report import number, spread

Figures = Mapping[str, Any]

ROWS: Mapping[str, Callable[[Figures], str]] = {
    "freezes": lambda f: f"{f['freeze_count']} ({f['freeze_s']:g} s)",
    "recovery, ms (50 %, 95 %, longest)": lambda f: spread(f["recovery_ms"]),
    "capture to shown, ms (50 %, 95 %)": lambda f: spread(f["e2e_ms"]),
    "picture after sound, ms (50 %, 95 %)": lambda f: spread(f["av_offset_ms"]),
    "queue delay, ms (50 %, 95 %)": lambda f: spread(f["queue_delay_ms"]),
    "PSNR-Y shown, dB": lambda f: number(f["psnr_y_shown"]),
    "VMAF shown": lambda f: number(f["vmaf_shown"]),
    "video, kbps": lambda f: number(f["kbps"]),
    "utilisation": lambda f: number(f["utilisation"]),
    "utilisation of need": lambda f: number(f["utilisation_of_need"]),
    "lost to the queue": lambda f: number(f["queue_loss_ratio"]),
    "captured / left out / sent / received / shown": lambda f: " / ".join(
        map(str, f["frames"].values())
    ),
    "key frames / LTRPs": lambda f: f"{f['key_frames']} / {f['ltrp_frames']}",
    "bytes sent again / padding / FEC": lambda f: " / ".join(
        str(f[name]) for name in ("retransmitted_bytes", "padding_bytes", "fec_bytes")
    ),
    "FEC recovered": lambda f: str(f["fec_recovered"]),
    "encoding, ms (50 %, 95 %)": lambda f: spread(f["encode_ms"]),
    "late pictures": lambda f: f"{f['late_frames']} ({f['late_s']:g} s)",
    "switches of codec / preset / size": lambda f: " / ".join(
        str(f[name]) for name in ("codec_switches", "preset_switches", "size_switches")
    ),
    "coded as": lambda f: "\n".join(f"{share:.0%} {n}" for n, share in f["operations"].items()),
}


def print_figures(summary: Figures, *, console: Console) -> None:
    """A run's figures, a column a direction."""
    speed = summary["virtual_s"] / summary["wall_s"] if summary["wall_s"] else 0
    title = f"{summary['virtual_s']:g} s in {summary['wall_s']:.1f} s ({speed:.1f}x real time)"
    columns = {
        name.replace("->", " → "): figures for name, figures in summary["directions"].items()
    }
    _print(title, columns, console)


def print_comparison(summaries: Mapping[str, Figures], *, console: Console) -> None:
    """Several runs side by side, direction by direction."""
    columns = {
        f"{name.replace('->', ' → ')}\n{label}": summary["directions"][name]
        for name in next(iter(summaries.values()))["directions"]
        for label, summary in summaries.items()
    }
    _print("side by side", columns, console)


def _print(title: str, columns: Mapping[str, Figures], console: Console) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    for label, cell in ROWS.items():
        table.add_row(label, *(cell(figures) for figures in columns.values()))
    console.print(table)
