"""The table, the live lines and the JSON of a call."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console

from codecpilot.codecs.types import Codec
from codecpilot.samples.call.board import Board
from codecpilot.samples.call.figures import SentLog, ShownLog, direction_figures
from codecpilot.samples.call.options import CallOptions, Source
from codecpilot.samples.call.report import Measured, call_report, print_report
from codecpilot.samples.call.series import Window
from codecpilot.samples.call.terminal import live_text

OPTIONS = CallOptions(
    source=Source(kind="synthetic"),
    width=640,
    height=360,
    fps=Fraction(30),
    bitrate_bps=552_000,
    codec=Codec.AV1,
    preset="default",
    seed=0,
)


def directions() -> list[dict[str, Any]]:
    """One direction in which a single picture came, the other silent."""
    sent, shown = SentLog(), ShownLog()
    sent.codec = "AV1"
    sent.captured(1_000_000)
    sent.encoded(
        1_000_000,
        now_us=1_005_000,
        encode_us=4_000,
        cpu_us=3_000,
        bits=9_000,
        quantizer=20,
        key=True,
    )
    shown.decoded(1_000_000, now_us=1_009_000, decode_us=1_000)
    shown.shown(1_000_000, now_us=1_012_300)
    window = Window(start_us=1_000_000, end_us=2_000_000, tick_us=33_333)
    busy = direction_figures(
        "A", "B", sent=sent.summary(window), shown=shown.summary(window, now_us=2_000_000)
    )
    silent = direction_figures(
        "B", "A", sent=SentLog().summary(window), shown=ShownLog().summary(window, now_us=2_000_000)
    )
    return [busy, silent]


def printed(report: dict[str, Any]) -> str:
    out = io.StringIO()
    print_report(report, console=Console(file=out, width=80))
    return out.getvalue()


def test_the_table_fits_a_terminal_and_shows_both_directions() -> None:
    text = printed(call_report(OPTIONS, Measured(directions=directions(), seconds=1.0)))
    assert max(len(line) for line in text.splitlines()) <= 80
    for words in ("A → B", "B → A", "1 / 1 / 1", "12.3 / 12.3", "9 kbps", "– / –"):
        assert words in text


def test_a_call_without_figures_says_so_and_still_names_its_recordings() -> None:
    report = call_report(OPTIONS, Measured(), recordings=[Path("kept/A-1.mkv")])
    text = printed(report)
    assert "before anything was measured" in text
    assert "recorded kept/A-1.mkv" in text
    assert report["recordings"] == ["kept/A-1.mkv"]
    assert report["settings"]["fps"] == "30"


def test_the_board_shows_a_round_once_both_sides_told_theirs() -> None:
    board = Board(("A", "B"))
    live = {"sent": SentLog().live(0), "shown": ShownLog().live(0)}
    board.take("A", live)
    assert (board.rounds, board.directions()) == (0, [])
    assert live_text(board).plain == "connecting …"
    board.take("B", live)
    assert board.rounds == 1
    assert [(d["from"], d["to"]) for d in board.directions()] == [("A", "B"), ("B", "A")]
    board.take("A", live)
    assert board.rounds == 1


def test_live_lines_of_a_large_call_fit_a_terminal() -> None:
    sent, shown = SentLog(), ShownLog()
    sent.codec, shown.width, shown.height = "H264", 1920, 1080
    board = Board(("A", "B"))
    for side in ("A", "B"):
        board.take(side, {"sent": sent.live(0), "shown": shown.live(0)})
    assert all(len(line) <= 80 for line in live_text(board).plain.splitlines())


def test_live_lines_fit_whatever_is_unknown_yet() -> None:
    board = Board(("A", "B"))
    for side in ("A", "B"):
        board.take(side, {"sent": SentLog().live(0), "shown": ShownLog().live(0)})
    lines = live_text(board).plain.splitlines()
    assert [line[:5] for line in lines] == ["A → B", "B → A"]
    assert all("latency   – ms" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)
