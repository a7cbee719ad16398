"""One simulated run from checked values to files."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ...codecs.errors import LocalError
from ...rtc.adaptation.costs import DEFAULT_COSTS, Cost, CostKey
from ...rtc.simulation.run import Run, simulate
from ...rtc.simulation.scenario import Scenario, Table, scenario
from ...rtc.simulation.summary import run_figures
from ..call.options import default_bitrate_bps
from ..text_file import read_text
from .outputs import make_folder, write_run
from .pictures import Sources
from .report import report_html
from .stills import StillSink
from .tables import print_figures
from .tools import make_tools, read_costs
from .vmaf_shown import is_vmaf_here, vmaf_shown

US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to simulate. vmaf_every is 0 where nothing is to be scored."""

    scenario: Scenario
    costs: Mapping[CostKey, Cost]
    vmaf_every: int


def prepare(values: Table, args: argparse.Namespace) -> Request:
    """Check the values and the folder. Raises LocalError."""
    request = Request(
        scenario=scenario(
            values,
            read_text=read_text,
            default_bps=lambda size, fps: default_bitrate_bps(
                width=size[0], height=size[1], fps=fps
            ),
        ),
        costs=DEFAULT_COSTS if args.costs is None else read_costs(args.costs),
        vmaf_every=args.vmaf_every if is_vmaf_here() else 0,
    )
    make_folder(args.out)
    return request


def simulate_into(request: Request, folder: Path, *, console: Console | None = None) -> Table:
    """Run, score, write every file and print the figures, which are returned, too."""
    console = console or Console()
    sources = Sources(request.scenario.peers)
    sinks: dict[str, StillSink] = {}
    run, wall_s = _simulate(request, sources=sources, sinks=sinks, console=console)
    summary = run_figures(run, wall_s=wall_s)
    if request.vmaf_every:
        with console.status("scoring VMAF …"):
            _score(run, summary, sources=sources, every=request.vmaf_every)
    make_folder(folder)
    write_run(run, summary, folder)
    stills = {name: sink.stills for name, sink in sinks.items()}
    report = folder / "report.html"
    try:
        report.write_text(report_html(run, summary, stills=stills), encoding="utf-8")
    except OSError as error:
        raise LocalError(f"cannot write {report}: {error.strerror}") from error
    print_figures(summary, console=console)
    console.print(f"wrote {report}", highlight=False, soft_wrap=True, markup=False)
    return summary


def figures_of(request: Request) -> Table:
    """Run and leave no file: the figures alone, without VMAF."""
    sources = Sources(request.scenario.peers)
    started_s = time.perf_counter()
    run = simulate(
        request.scenario, make_tools(request.scenario, sources=sources, costs=request.costs)
    )
    return run_figures(run, wall_s=time.perf_counter() - started_s)


def _simulate(
    request: Request, *, sources: Sources, sinks: dict[str, StillSink], console: Console
) -> tuple[Run, float]:
    scenario = request.scenario
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())

    def open_sink(direction: str) -> StillSink:
        fps = scenario.peers[direction[0]].fps
        pairs = int(scenario.duration_us * fps / US_PER_S)
        return sinks.setdefault(direction, StillSink(pairs=pairs))

    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("simulating", total=scenario.duration_us)
        tools = make_tools(scenario, sources=sources, costs=request.costs)
        started_s = time.perf_counter()
        run = simulate(
            scenario,
            tools,
            open_sink=open_sink,
            progress=lambda now_us: progress.update(task, completed=now_us),
        )
        return run, time.perf_counter() - started_s


def _score(run: Run, summary: dict[str, Any], *, sources: Sources, every: int) -> None:
    for name, direction in run.directions.items():
        sender = name[0]
        summary["directions"][name]["vmaf_shown"] = vmaf_shown(
            direction, run.scenario.peers[sender], sources.again(sender), every=every
        )
