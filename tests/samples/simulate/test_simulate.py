"""The command from its options to its files, with real codecs."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.ivf import read_ivf_frames, read_ivf_header
from codecpilot.codecs.media import open_video
from codecpilot.samples.cli import main
from codecpilot.samples.simulate.vmaf_shown import is_vmaf_here

SMALL = ["--size", "160x96", "--seconds", "2", "--rate", "300"]
COMMAND = "from codecpilot.samples.cli import main; raise SystemExit(main())"


def simulate(out: Path, *args: str) -> dict[str, Any]:
    assert main(["simulate", *SMALL, "--vmaf-every", "0", *args, "--out", str(out)]) == 0
    return summary_of(out)


def summary_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "summary.json").read_text())


def test_every_file_is_written_and_they_agree(tmp_path: Path) -> None:
    summary = simulate(tmp_path, "--loss", "0.05", "--seed", "4")
    assert summary["virtual_s"] == 2
    assert summary["wall_s"] > 0
    with (tmp_path / "frames.csv").open() as file:
        frames = list(csv.DictReader(file))
    with (tmp_path / "packets.csv").open() as file:
        packets = list(csv.DictReader(file))
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert all({"time_us", "peer", "event", "reason"} <= event.keys() for event in events)
    assert [e["time_us"] for e in events] == sorted(e["time_us"] for e in events)
    for name, figures in summary["directions"].items():
        mine = [f for f in frames if f["direction"] == name]
        assert figures["frames"]["captured"] == len(mine) == 60
        assert figures["frames"]["shown"] == sum(f["shown_us"] != "" for f in mine)
        assert figures["key_frames"] == sum(f["key"] == "1" for f in mine)
        scores = [float(f["psnr_y"]) for f in mine if f["psnr_y"]]
        assert figures["psnr_y_shown"] == pytest.approx(sum(scores) / len(scores), abs=0.01)
        assert 30 <= figures["psnr_y_shown"] <= 48
        resent = sum(p["direction"] == name and p["kind"] == "rtx" for p in packets)
        assert (figures["retransmitted_bytes"] > 0) == (resent > 0)


def test_the_received_bitstreams_decode_to_what_was_shown(tmp_path: Path) -> None:
    summary = simulate(tmp_path, "--set", "b.codec=H264")
    with (tmp_path / "a-to-b.ivf").open("rb") as file:
        header = read_ivf_header(file)
        units = [data for _, data in read_ivf_frames(file)]
    assert (header.width, header.height, header.frames) == (160, 96, len(units))
    decoder = Av1Decoder()
    assert all(decoder.decode(data) is not None for data in units)
    assert len(units) == summary["directions"]["a->b"]["frames"]["received"]
    pictures = list(open_video(tmp_path / "b-to-a.h264"))
    assert {(p.width, p.height) for p in pictures} == {(160, 96)}
    assert len(pictures) == summary["directions"]["b->a"]["frames"]["received"]
    assert not (tmp_path / "a-to-b.h264").exists()


def digests(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        if path.name in ("summary.json", "report.html"):
            data = re.sub(rb'"wall_s": [0-9.]+', b"", data)
        found[path.name] = hashlib.sha256(data).hexdigest()
    return found


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    link = ["--loss", "0.05", "--burst", "2", "--jitter", "5", "--set", "ba.rate=0:300,1:80"]
    request = ["simulate", *SMALL, *link, "--vmaf-every", "0"]
    for name, hash_seed in (("one", "1"), ("two", "2")):
        out = tmp_path / name
        subprocess.run(
            [sys.executable, "-c", COMMAND, *request, "--out", str(out)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            timeout=120,
        )
    one, two = digests(tmp_path / "one"), digests(tmp_path / "two")
    assert one == two
    assert {"a-to-b.ivf", "b-to-a.ivf", "events.jsonl", "rates.csv", "summary.json"} <= one.keys()


def test_a_scenario_file_and_what_stands_above_it(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text('seed = 9\nloss = 0.5\n[a]\nsize = "96x64"\n')
    out = tmp_path / "out"
    args = [str(path), "--seconds", "1", "--loss", "0", "--set", "b.fps=10", "--size", "64x64"]
    assert main(["simulate", *args, "--vmaf-every", "0", "--out", str(out)]) == 0
    summary = summary_of(out)
    assert [f["frames"]["captured"] for f in summary["directions"].values()] == [30, 10]
    with (out / "a-to-b.ivf").open("rb") as file:
        assert read_ivf_header(file).width == 96
    assert summary["directions"]["a->b"]["retransmitted_bytes"] == 0


def test_two_policies_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = tmp_path / "ours.toml", tmp_path / "aiortc.toml"
    ours.write_text("target_kbps = 100\n")
    theirs.write_text('stack = "aiortc"\n')
    out = tmp_path / "out"
    args = [*SMALL, "--compare", str(ours), str(theirs), "--vmaf-every", "0", "--out", str(out)]
    assert main(["simulate", *args]) == 0
    both = json.loads((out / "compare.json").read_text())
    assert list(both) == ["ours", "aiortc"]
    assert both["ours"] == summary_of(out / "ours")
    kbps = [both[name]["directions"]["a->b"]["kbps"] for name in both]
    # aiortc sends half a megabit at the least.
    assert kbps[0] <= 120 < 400 <= kbps[1]
    assert "side by side" in capsys.readouterr().out


def test_the_report_needs_nothing_else(tmp_path: Path) -> None:
    simulate(tmp_path)
    page = (tmp_path / "report.html").read_text()
    own = page.replace("https://github.com/leeoniya/uPlot", "")
    assert not re.search(r'(?:src|href)="(?!data:)', own)
    assert "url(" not in own
    assert page.count("data:image/jpeg") == 2 * 2 * 6
    data = re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL)
    assert data
    for series in json.loads(data[1]).values():
        assert len(series["frames"]["t"]) == len(series["frames"]["psnr"]) == 60
        assert len(series["rates"]["t"]) == len(series["rates"]["capacity"]) == 8
        assert set(series["rates"]["capacity"]) == {300.0}


@pytest.mark.skipif(not is_vmaf_here(), reason="needs the evaluation extra")
def test_vmaf_is_of_the_screen(tmp_path: Path) -> None:
    args = ["--size", "160x96", "--seconds", "2", "--vmaf-every", "4"]
    settings = ["--set", "ab.loss=0:0,0.7:1", "--set", "target_kbps=200"]
    assert main(["simulate", *args, *settings, "--out", str(tmp_path)]) == 0
    frozen, moving = (f["vmaf_shown"] for f in summary_of(tmp_path)["directions"].values())
    # The frozen direction stands for two thirds of the time.
    assert 80 <= moving <= 100
    assert frozen <= moving - 10


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (["--rate", "fast"], "rate 'fast' is not a number"),
        (["--rate", "0:600,5:0"], "ab: the last rate is 0 kbps; it must be above 0"),
        (["--loss", "2"], r"loss 2 is outside 0\.\.1"),
        (["--loss", "0.9", "--burst", "4"], r"loss 0\.9 in bursts of 4 is above 0\.8"),
        (["--set", "speed=3"], "unknown key 'speed'"),
        (["--set", "speed"], "--set 'speed' is not KEY=VALUE"),
        (["--trace", "/nowhere"], "/nowhere: No such file"),
        (["--source", "/nowhere.mp4"], "/nowhere.mp4"),
        (["/nowhere.toml"], "/nowhere.toml: No such file"),
        (["--vmaf-every", "-1"], "--vmaf-every -1 is outside 0..1000000"),
        (["--costs", "/nowhere.json"], "--costs /nowhere.json"),
        (["--trace", "a\0b"], "is no path of a file"),
        (["--vmaf-every", str(10**22)], "is outside 0..1000000"),
    ],
)
def test_a_wrong_request_is_one_line(
    args: list[str], names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *args, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search(names, error)


def test_policies_on_different_links_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text("loss = 0.1\n")
    other.write_text('preset = "low"\n')
    args = ["simulate", "--compare", str(one), str(other), "--out", str(tmp_path / "out")]
    assert main(args) == 2
    assert "loss is 0.1 in one scenario and not set in the other" in capsys.readouterr().err


def test_a_folder_keeps_no_bitstream_of_a_run_before(tmp_path: Path) -> None:
    short = ("--seconds", "0.5", "--size", "64x64")
    simulate(tmp_path, *short, "--set", "codec=H264")
    simulate(tmp_path, *short)
    found = {path.name for path in tmp_path.iterdir() if path.suffix in (".ivf", ".h264")}
    assert found == {"a-to-b.ivf", "b-to-a.ivf"}


SLOW = ["--set", "a.device=14", "--set", "adaptation=false"]


def test_costs_come_from_what_doctor_wrote(tmp_path: Path) -> None:
    speeds = [
        {"codec": codec, "preset": preset, "width": 640, "height": 360}
        | {"encode_ms": 46.08, "decode_ms": 2.304}
        for codec, preset in (("AV1", "default"), ("H264", "default"))
    ]
    path = tmp_path / "doctor.json"
    path.write_text(json.dumps({"speeds": speeds}))
    # 200 ns a pixel is 3 ms a picture, 14 times slower than that is 43: two of three at most are sent.
    summary = simulate(tmp_path / "out", "--costs", str(path), *SLOW)
    assert 30 <= summary["directions"]["a->b"]["frames"]["sent"] <= 47


@pytest.mark.parametrize(
    "change",
    [
        {"encode_ms": float("nan")},
        {"decode_ms": float("inf")},
        {"encode_ms": -1},
        {"width": 0},
        None,
    ],
)
def test_costs_that_no_device_has_are_refused(
    change: dict[str, float] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    speed = {"codec": "AV1", "preset": "default", "width": 640, "height": 360}
    times = {"encode_ms": 2.0, "decode_ms": 1.0}
    path = tmp_path / "doctor.json"
    path.write_text("{}" if change is None else json.dumps({"speeds": [speed | times | change]}))
    assert main(["simulate", "--costs", str(path), "--out", str(tmp_path / "out")]) == 2
    assert "is not what codecpilot doctor --json writes" in capsys.readouterr().err
