"""What the terminal shows: a bar with the time left, a line for each run, the means at the end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from .job import Job
from .results import FinishedRun

if TYPE_CHECKING:
    from .summary import Evaluation

REFRESHES_A_SECOND = 2


class Board:
    """The progress of an evaluation on standard error, its result on standard output."""

    def __init__(self) -> None:
        self._out = Console(highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("elapsed"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True, highlight=False),
            refresh_per_second=REFRESHES_A_SECOND,
            speed_estimate_period=600,
        )
        self._task: TaskID | None = None
        self._jobs: Sequence[Job] = ()
        self._parts: list[float] = []
        self._ended = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def say(self, text: str) -> None:
        """A line about what happens."""
        self._progress.console.print(text, soft_wrap=True, markup=False)

    def busy(self, text: str) -> AbstractContextManager[object]:
        """Say what goes on for as long as it does; nothing where no terminal is."""
        return self._progress.console.status(text)

    def begin(self, jobs: Sequence[Job]) -> None:
        """Show the bar for these runs."""
        self._jobs, self._parts = jobs, [0.0] * len(jobs)
        total = sum(job.weight for job in jobs)
        self._task = self._progress.add_task(f"0/{len(jobs)} runs", total=total)
        self._progress.start()

    def advance(self, index: int, part: float) -> None:
        """This part of a run is done."""
        self._parts[index] = part
        self._update()

    def finished(self, index: int, run: FinishedRun) -> None:
        """A run has its result."""
        self._end(index)
        self._progress.console.print(
            f"{self._jobs[index].label}  {_line(run.figures)}", soft_wrap=True, markup=False
        )

    def failed(self, index: int, reason: str) -> None:
        """A run has none."""
        self._end(index)
        text = f"{self._jobs[index].label}  failed: {reason}"
        self._progress.console.print(text, style="red", soft_wrap=True, markup=False)

    def conclude(self, evaluation: Evaluation, report: Path) -> None:
        """Print the means over clips, and where the report is."""
        self._stop()
        table = _table(evaluation)
        if table is not None:
            self._out.print(table)
        for reason in evaluation.comparison.refused:
            self._out.print(f"no BD-rate: {reason}", soft_wrap=True, markup=False)
        if evaluation.failures:
            self._out.print(f"{len(evaluation.failures)} of {len(self._jobs)} runs failed")
        self._out.print(f"report: {report}", soft_wrap=True, markup=False)

    def _stop(self) -> None:
        # One that never began would print an empty line.
        if self._task is not None:
            self._progress.stop()

    def _end(self, index: int) -> None:
        self._parts[index] = 1.0
        self._ended += 1
        self._update()

    def _update(self) -> None:
        assert self._task is not None
        done = sum(job.weight * part for job, part in zip(self._jobs, self._parts, strict=True))
        text = f"{self._ended}/{len(self._jobs)} runs"
        self._progress.update(self._task, completed=done, description=text)


def _line(figures: dict[str, Any]) -> str:
    quality = "  ".join(
        f"{name} {figures[key]:.{digits}f}"
        for name, key, digits in (("VMAF", "vmaf", 1), ("PSNR", "psnr_y", 2), ("SSIM", "ssim", 4))
        if figures[key] is not None
    )
    vbv = figures["vbv_ms"]
    delay = "" if vbv["max"] is None else f"  VBV p95 {vbv['p95']:.0f} max {vbv['max']:.0f} ms"
    return (
        f"{figures['kbps']:.1f} kbps  {quality}{delay}  "
        f"dropped {figures['dropped']}  CPU {figures['encode_cpu_ms']:.2f} ms"
    )


def _table(evaluation: Evaluation) -> Table | None:
    """What is codecpilot's own against each baseline, by the first metric; the report has the rest."""
    metric = evaluation.request.metrics[0]
    own = {codec.label for codec in evaluation.request.codecs if codec.is_controlled}
    ratios = {
        (entry["anchor"], entry["codec"]): entry["ratio"]
        for entry in evaluation.comparison.cpu_ratio_mean
    }
    table = Table("codec", "against", f"BD-rate ({metric})", "CPU", "clips", box=None)
    for entry in evaluation.comparison.bd_rate_mean:
        if entry["metric"] != metric or entry["codec"] not in own:
            continue
        ratio = ratios.get((entry["anchor"], entry["codec"]))
        table.add_row(
            entry["codec"],
            entry["anchor"],
            f"{entry['percent']:+.1f} %",
            "" if ratio is None else f"{ratio:.2f}x",
            str(entry["clips"]),
        )
    return table if table.row_count else None
