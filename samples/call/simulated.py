"""The call that was just held, once more in virtual time: does the simulator tell the truth?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from ...codecs.errors import LocalError
from ...rtc.simulation.call import Direction
from ...rtc.simulation.run import Run, simulate
from ...rtc.simulation.scenario import PEERS, scenario
from ...rtc.simulation.summary import direction_figures as simulated_figures
from ..simulate.pictures import Sources
from ..simulate.tools import make_tools
from ..text_file import read_text
from .link_meter import LinkMeter
from .options import CallOptions
from .report import LINK_ROWS, spread

Figures = dict[str, Any]

# Ours: a call that was ended sooner has nothing to compare.
MIN_SECONDS = 1.0


def check_simulated(options: CallOptions) -> None:
    """Raises LocalError for a call that no simulation can repeat."""
    if not options.link:
        raise LocalError("--simulated needs an emulated link, such as --rate 600 --delay 50")
    if options.source.kind == "camera":
        raise LocalError("--simulated cannot repeat what a camera sees")
    if options.seed < 0:
        raise LocalError(f"--seed {options.seed} is below 0, which --simulated cannot take")
    device = options.device
    if device.max_size or device.max_fps or any(device.send_codecs) or device.eligibility:
        raise LocalError(
            "--simulated knows no --send-codecs, --max-size, --max-fps or --eligibility"
        )


def simulate_call(options: CallOptions, report: Mapping[str, Any]) -> list[Figures]:
    """What "directions" of the report would have been in virtual time, in the report's words.

    Empty where the call was too short.
    """
    if report["seconds"] < MIN_SECONDS:
        return []
    values = {
        "seconds": report["seconds"],
        "seed": options.seed,
        "source": options.source.place or "synthetic",
        "size": f"{options.width}x{options.height}",
        "fps": str(options.fps),
        "codec": options.codec.value,
        "preset": options.preset,
        "cc": options.cc,
        "target_kbps": options.bitrate_bps // 1000,
        "audio_kbps": options.audio_bps // 1000,
        "adaptation": options.device.adaptation,
        "cpu_budget": options.device.cpu_budget_ratio,
        **_scores(options),
        **options.link,
        **options.switches,
    }
    checked = scenario(values, read_text=read_text, default_bps=lambda size, fps: 0)
    run = simulate(checked, make_tools(checked, sources=Sources(checked.peers)))
    return [_figures(run, direction) for direction in run.directions.values()]


def print_comparison(
    live: list[Figures], simulated: list[Figures], *, console: Console | None = None
) -> None:
    """Both, side by side, a table a direction."""
    console = console or Console()
    for pair in zip(live, simulated, strict=True):
        table = Table(title=f"{pair[0]['from']} → {pair[0]['to']}", title_justify="left")
        for heading in ("", "live", "simulated"):
            table.add_column(heading, justify="right" if heading else "left")
        for name, cell in ROWS.items():
            table.add_row(name, *(cell(figures) for figures in pair))
        console.print(table)


def _scores(options: CallOptions) -> dict[str, dict[str, float]]:
    """Each peer's own."""
    told = zip(PEERS, options.device.rtc_scores, strict=True)
    return {peer: {"rtc_score": score} for peer, score in told if score is not None}


def _figures(run: Run, direction: Direction) -> Figures:
    duration_us = run.scenario.duration_us
    told = simulated_figures(direction, duration_us=duration_us)
    sender, _, receiver = direction.name.upper().partition("->")
    names = ("kbps", "freeze_count", "freeze_s", "av_offset_ms", "key_frames", "operations")
    return {
        "from": sender,
        "to": receiver,
        **{name: told[name] for name in names},
        "captured": told["frames"]["captured"],
        "encoded": told["frames"]["sent"],
        "shown": told["frames"]["shown"],
        "latency_ms": told["e2e_ms"],
        "link": LinkMeter(direction.link).summary(duration_us),
    }


ROWS = {
    "bitrate, kbps": lambda f: f"{f['kbps']:.0f}",
    "captured / encoded / shown": lambda f: f"{f['captured']} / {f['encoded']} / {f['shown']}",
    "freezes": lambda f: f"{f['freeze_count']} ({f['freeze_s']:g} s)",
    "latency, capture to shown, ms": spread("latency_ms"),
    "picture after sound, ms": spread("av_offset_ms"),
    **LINK_ROWS,
}
