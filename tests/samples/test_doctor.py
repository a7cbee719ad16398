"""The doctor: facts of the machine, speeds that are measured, and a verdict in words."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.samples import machine, speed
from codecpilot.samples.cli import main
from codecpilot.samples.machine import (
    Library,
    describe_machine,
    find_libraries,
    find_optional_parts,
    processor,
    quota_cores,
)
from codecpilot.samples.scene import Scene
from codecpilot.samples.speed import Speed, measure
from codecpilot.samples.verdict import verdict

WORKING = [Library(role="AV1 encoder", name="libaom 3.13.1", path="libaom.so")]


def row(preset: str, encode_ms: float, *, codec: str = "AV1") -> Speed:
    return Speed(
        codec=codec,
        preset=preset,
        width=640,
        height=360,
        encode_ms=encode_ms,
        decode_ms=1.0,
        kbps=500,
    )


def test_the_codecs_of_a_call_are_found_with_their_versions() -> None:
    libraries = {library.role: library for library in reversed(find_libraries())}
    assert not any(library.problem for library in libraries.values())
    assert libraries["AV1 encoder"].name.startswith("libaom 3.")
    assert Path(libraries["AV1 encoder"].path).is_file()
    assert "dav1d" in libraries["AV1 decoder"].name
    assert {"H.264 encoder", "H.264 decoder"} <= libraries.keys()


def test_a_missing_libaom_is_a_finding_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from codecpilot.codecs.libaom import find_libaom

    monkeypatch.setenv("CODECPILOT_LIBAOM", "/nowhere/libaom.so")
    find_libaom.cache_clear()
    try:
        encoder = find_libraries()[0]
    finally:
        find_libaom.cache_clear()
    assert encoder.role == "AV1 encoder"
    assert "/nowhere/libaom.so" in encoder.problem


def test_the_machine_is_described() -> None:
    here = describe_machine()
    assert 0 < here.usable_cores <= max(1, here.logical_cores)
    assert here.memory_bytes > here.free_memory_bytes > 0
    assert here.packages["av"].startswith("16.")
    assert here.processor
    assert {part.name for part in find_optional_parts()} == {"evaluation extra", "chromium"}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, math.inf),
        ({"cpu.max": "max 100000\n"}, math.inf),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ({"cpu/cpu.cfs_quota_us": "2000\n", "cpu/cpu.cfs_period_us": "10000\n"}, 0.2),
    ],
)
def test_a_containers_cpu_quota_is_obeyed(
    files: dict[str, str], cores: float, tmp_path: Path
) -> None:
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert quota_cores(tmp_path) == cores


def test_the_processor_is_read_where_linux_tells_it(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "model name\t: A Processor\nflags\t\t: fpu avx2\n\nmodel name\t: A Processor\n"
    )
    assert processor(cpuinfo) == ("A Processor", frozenset({"fpu", "avx2"}))
    assert processor(tmp_path / "none") == ("", frozenset())


@pytest.mark.parametrize("codec", list(Codec))
def test_speed_is_measured_by_encoding_and_decoding(codec: Codec) -> None:
    scene = Scene(width=320, height=180)
    measured = measure(codec, preset="ultralow", pictures=[scene.picture(i) for i in range(5)])
    assert (measured.codec, measured.width, measured.height) == (codec.value, 320, 180)
    assert 0.05 < measured.encode_ms < 100
    assert 0.02 < measured.decode_ms < 100
    assert 10 < measured.kbps < 3_000


def test_the_verdict_names_the_finest_preset_in_real_time() -> None:
    rows = [row("ultralow", 2), row("default", 8), row("best", 25), row("default", 2, codec="H264")]
    (words,) = verdict(rows, libraries=WORKING, cores=2)
    assert words.startswith("640x360 at 30 fps: AV1 in real time up to preset default (8.0 of 33")
    assert words.endswith("holds it up to preset default.")


def test_the_verdict_of_a_slow_machine_is_h264() -> None:
    (words,) = verdict([row("ultralow", 40), row("best", 90)], libraries=WORKING, cores=1)
    assert "too slow for AV1; use H.264" in words
    assert "will skip pictures" in words


def test_the_verdict_names_a_role_that_nothing_fills() -> None:
    broken = Library(role="AV1 encoder", name="libaom", problem="no usable libaom\nlooked at x")
    spare = Library(role="H.264 encoder", name="libx264", problem="gone")
    other = Library(role="H.264 encoder", name="libopenh264")
    assert verdict([], libraries=[broken, spare, other], cores=2) == [
        "No AV1 encoder: no usable libaom"
    ]


def test_the_command_prints_and_writes_its_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speed, "SIZES", ((64, 64),))
    monkeypatch.setattr(speed, "FRAMES", {(64, 64): 3})
    out = tmp_path / "doctor.json"
    assert main(["doctor", "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    report = json.loads(out.read_text())
    assert {"version", "machine", "libraries", "optional", "speeds", "verdict"} == report.keys()
    assert {s["preset"] for s in report["speeds"]} >= {"ultralow", "default", "best"}
    assert report["verdict"][0].startswith("64x64 at 30 fps:")
    for words in ("libaom 3.", "AV1 ultralow", "H264", "cores usable"):
        assert words in printed


def test_what_is_missing_is_told_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The brackets of an extra were taken for markup, and the advice installed nothing."""
    monkeypatch.setattr(speed, "SIZES", ((64, 64),))
    monkeypatch.setattr(speed, "FRAMES", {(64, 64): 3})
    monkeypatch.setattr(machine.util, "find_spec", lambda name: None)
    assert main(["doctor"]) == 0
    assert "not here: .venv/bin/pip install -e '.[evaluation]'" in capsys.readouterr().out
