"""Each means against loss alone and taken away, in one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codecpilot.samples.cli import main
from codecpilot.samples.simulate.ablation_table import Cell, ablation_rows, markdown

SMALL = ["--size", "96x64", "--seconds", "2", "--rate", "300", "--ablation"]


def finished(**changes: Any) -> dict[str, Any]:
    values = {
        "freeze_s": 2.0,
        "freeze_count": 4,
        "recovery_ms": {"p50": 150, "p95": 300, "max": 400},
        "e2e_ms": {"p50": 60, "p95": 120},
        "psnr_y_shown": 35.0,
        "kbps": 400,
        "key_frames": 1,
        "frames": {"shown": 50},
    }
    return {"directions": {"a->b": values | changes}}


def test_a_row_has_the_means_over_seeds_and_every_seeds_own() -> None:
    cell = Cell(loss_percent=5, burst="1", rtt_ms=100)
    runs = [
        ((cell, "all", 1), finished()),
        ((cell, "all", 2), finished(freeze_s=1.0, recovery_ms={"p50": None})),
        ((cell, "key", 1), finished(freeze_s=0, frames={"shown": 0})),
        ((cell, "key", 2), finished(freeze_s=3.0, key_frames=9)),
    ]
    every, key = ablation_rows(runs)
    assert (every["stack"], every["freeze_s"], every["recovery_p50_ms"]) == ("all", 1.5, 150)
    assert [run["seed"] for run in every["runs"]] == [1, 2]
    assert [run["freeze_s"] for run in every["runs"]] == [2.0, 1.0]
    # Who shows nothing is not called free of freezes.
    assert (key["freeze_s"], key["key_frames"]) == (3.0, 5)


def test_markdown_has_a_line_for_each_stack_and_a_column_for_each_loss() -> None:
    cells = [Cell(loss_percent=loss, burst="4", rtt_ms=40) for loss in (2, 10)]
    runs = [((cell, stack, 1), finished()) for cell in cells for stack in ("all", "nack")]
    lines = markdown(ablation_rows(runs)).splitlines()
    assert lines[0] == "RTT 40 ms, in bursts of 4:"
    assert lines[2] == "| means | 2 % | 10 % |"
    assert lines[4:6] == [
        "| all | 2.00 · 120 · 0 | 2.00 · 120 · 0 |",
        "| nack | 2.00 · 120 · 0 | 2.00 · 120 · 0 |",
    ]


def test_the_grid_is_run_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    grid = ["--losses", "0,10", "--rtts", "80", "--burst", "1,4", "--stacks", "all,key"]
    assert main(["simulate", *SMALL, *grid, "--seeds", "2", "--out", str(out)]) == 0
    rows = json.loads((out / "ablation.json").read_text())["rows"]
    seen = [(row["burst"], row["loss_percent"], row["stack"]) for row in rows]
    cells = [("1", 0), ("1", 10), ("4", 10)]
    assert seen == [(*cell, stack) for cell in cells for stack in ("all", "key")]
    assert all([run["seed"] for run in row["runs"]] == [1, 2] for row in rows)
    calm, lossy = rows[1], rows[3]
    assert (calm["freeze_s"], calm["key_frames"]) == (0, 1)
    assert lossy["key_frames"] > 1
    assert rows[2]["key_frames"] < lossy["key_frames"]
    assert "10 % lost, in bursts of 4, RTT 80 ms" in capsys.readouterr().out
    assert "| all |" in (out / "ablation.md").read_text()


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (["--losses", "0,101"], "--losses 101 is outside 0..100"),
        (["--losses", "x"], "--losses 'x' is not a number"),
        (["--rtts", "-1"], "--rtts -1 is outside 0.."),
        (["--burst", "0.5"], "--burst 0.5 is outside 1.."),
        (["--stacks", "all,none"], "each once of all, no-layers, no-fec"),
        (["--stacks", "key,key"], "each once of"),
        (["--seeds", "0"], "--seeds 0 is outside 1..100"),
        (["--workers", "3"], "--workers 3 is outside 1..2"),
        (["--policies", "nack"], "exclude each other"),
        (["--set", "seed=x"], "seed"),
    ],
)
def test_a_wrong_request_is_one_line(
    args: list[str], names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *SMALL, *args, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert names in error
