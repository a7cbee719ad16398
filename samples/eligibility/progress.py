"""A bar on standard error while something long runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def bar(text: str, *, total: float) -> Iterator[Callable[[float], None]]:
    """Gives a function that moves the bar on by so much."""
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        refresh_per_second=2,
    )
    with progress:
        task = progress.add_task(text, total=total)
        yield lambda amount: progress.advance(task, amount)
