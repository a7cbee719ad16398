"""Adaptation against fixed presets over devices, in one table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from codecpilot.samples.cli import main
from codecpilot.samples.simulate.device_sweep import read_sweep
from codecpilot.samples.simulate.device_table import Cell, device_rows, markdown


def finished(**changes: Any) -> dict[str, Any]:
    values = {
        "psnr_y_shown": 40.0,
        "late_frames": 3,
        "late_s": 0.1,
        "freeze_s": 0.0,
        "frames": {"shown": 50},
        "e2e_ms": {"p50": 60, "p95": 120},
        "encode_ms": {"p50": 6, "p95": 12},
        "kbps": 400,
        "codec_switches": 0,
        "preset_switches": 1,
        "size_switches": 0,
        "operations": {},
        "adaptations": {},
    }
    return {"directions": {"a->b": values | changes}}


def runs(way: str, *, late_s: list[float], psnr: list[float | None]):
    return [
        (
            Cell(size="640x360", way=way, factor=2.0**index),
            finished(late_s=s, psnr_y_shown=score),
        )
        for index, (s, score) in enumerate(zip(late_s, psnr, strict=True))
    ]


def test_a_row_has_the_means_over_devices_and_the_worst() -> None:
    adaptive = runs("adaptive", late_s=[0, 0.5, 0.1], psnr=[42, 40, 38])
    best = runs("best", late_s=[0, 3, 20], psnr=[44, 40, None])
    ours, theirs = device_rows(adaptive + best)
    assert (ours["psnr_y_shown"], ours["late_s"], ours["late_s_worst"]) == (40, 0.2, 0.5)
    assert [run["factor"] for run in ours["runs"]] == [1, 2, 4]
    assert (theirs["psnr_y_shown"], theirs["late_s_worst"]) == (42, 20)


def test_markdown_has_the_means_and_then_single_devices() -> None:
    rows = device_rows(runs("adaptive", late_s=[0, 0.5], psnr=[42, None]))
    lines = markdown(rows).splitlines()
    assert lines[0].startswith("640x360, 2 devices; means over the devices of a: PSNR")
    assert lines[4] == "| adaptive | 42.00 | 3.00 | 0.50 | 0.00 | 120 | 0 | 1 | 0 |"
    assert lines[8] == "| coded as | 1x | 2x |"
    assert lines[10] == "| adaptive | 42.0 · 0.0 | – · 0.5 |"


def test_the_sweep_is_run_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    # 96x64 of AV1 take 107 us at best: 400 times slower is beyond 33 ms.
    sweep = ["--device-sweep", "1:400:30", "--sizes", "96x64", "--ways", "best,ultralow"]
    other = ["--set", "b.size=64x64", "--set", "target_kbps=200", "--seconds", "2"]
    assert main(["simulate", *sweep, *other, "--out", str(out)]) == 0
    rows = json.loads((out / "devices.json").read_text())["rows"]
    assert [(row["size"], row["way"]) for row in rows] == [("96x64", "best"), ("96x64", "ultralow")]
    best, ultralow = rows
    assert [run["factor"] for run in best["runs"]] == [1, 31, 400]
    assert [run["late_frames"] for run in best["runs"][:2]] == [0, 0]
    assert 20 <= best["runs"][2]["late_frames"] <= 60
    assert ultralow["late_frames"] == 0
    assert "96x64" in capsys.readouterr().out
    assert "| ultralow |" in (out / "devices.md").read_text()


def test_steps_are_ratios_and_the_end_is_among_them() -> None:
    args = argparse.Namespace(device_sweep="0.5:8:0.05", ways=None, sizes="64x64")
    factors = read_sweep(args).factors
    assert (factors[0], factors[1], factors[-1], len(factors)) == (0.5, 0.525, 8, 58)


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (["--device-sweep", "1:2"], "'1:2' is not FROM:TO:STEP"),
        (["--device-sweep", "0:2:0.1"], "--device-sweep 0 is outside 0.01..1000"),
        (["--device-sweep", "1:2:0"], "--device-sweep 0 is outside 0.001..1000"),
        (["--device-sweep", "1:1000:0.001"], "is more than 500 devices"),
        (["--device-sweep", "1:2:1", "--sizes", "63x64"], "--sizes '63x64' is not WIDTHxHEIGHT"),
        (["--device-sweep", "1:2:1", "--ways", "fast"], "each once of adaptive, webrtc, ultralow"),
        (["--device-sweep", "1:2:1", "--ablation"], "exclude each other"),
        (["--ways", "best"], "--ways needs --device-sweep"),
        (["--sizes", "64x64"], "--sizes needs --device-sweep"),
    ],
)
def test_a_wrong_request_is_refused(
    args: list[str], names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *args, "--out", str(tmp_path / "out")]) == 2
    assert names in capsys.readouterr().err
