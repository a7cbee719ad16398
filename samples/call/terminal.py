"""The line of live figures in the terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from .board import Board

REFRESHES_A_SECOND = 2


@contextlib.contextmanager
def live_terminal(board: Board, *, url: str) -> Iterator[None]:
    """Say where the page is, then keep a line a direction up to date until the call ends."""
    console = Console()
    console.print(f"The call is shown at [bold]{url}[/bold]  (Ctrl-C ends it)", highlight=False)
    if not console.is_terminal:
        yield
        return
    with Live(
        console=console,
        get_renderable=lambda: live_text(board),
        refresh_per_second=REFRESHES_A_SECOND,
        transient=True,
    ):
        yield


def live_text(board: Board) -> Text:
    """The lines for now."""
    directions = board.directions()
    if not directions:
        return Text("connecting …", style="dim")
    return Text("\n".join(_line(figures) for figures in directions), no_wrap=True)


def _line(figures: dict[str, Any]) -> str:
    size = f"{figures['width']}x{figures['height']}"
    return (
        f"{figures['from']} → {figures['to']} {figures['codec'] or '–'} {size:9}"
        f" {figures['fps']:2d} fps {figures['kbps']:4.0f} kbps q{_number(figures['quantizer'])}"
        f" latency {_number(figures['latency_ms']['p50'])} ms"
        f" A/V {_number(figures['av_offset_ms']):>4} ms freezes {figures['freeze_count']}"
    )


def _number(value: float | None) -> str:
    return "  –" if value is None else f"{value:3.0f}"
