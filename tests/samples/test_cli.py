"""The command line: help, version, one-line errors and exit codes, and a quick start."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from codecpilot.codecs.av1_presets import PRESETS
from codecpilot.samples import cli, doctor
from codecpilot.samples.cli import build_parser, main
from codecpilot.samples.json_file import check_json_path
from codecpilot.samples.version import codecpilot_version

COMMAND = [
    sys.executable,
    "-c",
    "from codecpilot.samples.cli import main; raise SystemExit(main())",
]


def run_command(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *args], capture_output=True, text=True, timeout=60)


def complaint(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Runs the command in this process, expects code 2 and one line, returns the line."""
    try:
        code: object = main(args)
    except SystemExit as leaving:
        code = leaving.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_help_names_every_command_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["--help"])
    assert leaving.value.code == 0
    text = capsys.readouterr().out
    for word in ("call", "doctor", "evaluate", "simulate", "examples:", "--version"):
        assert word in text


@pytest.mark.parametrize("command", ["call", "doctor", "evaluate", "simulate"])
def test_each_command_has_help_with_examples(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main([command, "--help"])
    assert leaving.value.code == 0
    assert f"codecpilot {command}" in capsys.readouterr().out


def test_the_help_names_the_presets_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["call", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert f"AV1 preset: {', '.join(PRESETS)}" in words


def test_version_is_the_installed_one() -> None:
    done = run_command("--version")
    assert (done.returncode, done.stdout) == (0, f"codecpilot {codecpilot_version()}\n")


def test_the_parser_loads_nothing_heavy() -> None:
    code = (
        "import sys; from codecpilot.samples.cli import build_parser; build_parser();"
        "print([m for m in ('numpy', 'av', 'cv2', 'aiortc', 'aiohttp', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "COMMAND"),
        (["dance"], "dance"),
        (["call", "--size", "641x360"], "even numbers from 64 to 4096"),
        (["call", "--size", "wide"], "'wide' is not WIDTHxHEIGHT"),
        (["call", "--size", "32x32"], "64 to 4096"),
        (["call", "--fps", "0"], "from 1 to 120"),
        (["call", "--fps", "1/0"], "from 1 to 120"),
        (["call", "--seconds", "0"], "from 1 to 86400"),
        (["call", "--seconds", "-3"], "--seconds"),
        (["call", "--bitrate", "10"], "from 20 to 50000"),
        (["call", "--port", "70000"], "from 0 to 65535"),
        (["call", "--codec", "VP8"], "VP8"),
        (["call", "--source", "camera:x"], "camera:N"),
    ],
)
def test_a_wrong_argument_is_one_line_and_code_2(
    args: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in complaint(args, capsys)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--preset", "lazy"], "ultralow"),
        (["--source", "missing.mp4"], "missing.mp4: no such file"),
        (["--source", "camera:77"], "77"),
        (["--json", "nowhere/out.json"], "there is no folder"),
        (["--json", "."], "a folder, not a file"),
    ],
)
def test_a_request_that_cannot_be_met_is_one_line_and_code_2(
    args: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in complaint(["call", "--headless", *args], capsys)


def test_an_undecodable_file_is_one_line_and_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "noise.mp4"
    path.write_bytes(bytes(range(256)) * 16)
    assert "noise.mp4: not a readable media file" in complaint(
        ["call", "--headless", "--source", str(path)], capsys
    )


def test_a_file_with_sound_alone_is_one_line_and_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sound.wav"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=48_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(
            np.zeros((1, 960), np.int16), format="s16", layout="mono"
        )
        frame.sample_rate = 48_000
        container.mux(stream.encode(frame))
    assert "sound.wav: no video stream" in complaint(
        ["call", "--headless", "--source", str(path)], capsys
    )


def test_ctrl_c_is_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "run", interrupted)
    assert main(["doctor"]) == 130
    monkeypatch.setattr(cli, "build_parser", lambda: interrupted(None))
    assert main(["doctor"]) == 130


def test_a_busy_port_is_one_line_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        line = complaint(["call", "--port", str(port)], capsys)
    assert f"port {port}" in line
    assert "--port" in line


def test_a_real_process_returns_the_code_and_no_traceback() -> None:
    done = run_command("call", "--headless", "--source", "missing.mp4")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "codecpilot: missing.mp4: no such file\n"


def test_defaults_are_a_short_way_to_a_call() -> None:
    args = build_parser().parse_args(["call"])
    assert (args.size, args.fps, args.port) == ((640, 360), 30, 8040)
    assert (args.codec, args.preset, args.seconds, args.headless) == ("AV1", "auto", None, False)


def test_a_json_file_that_cannot_be_written_is_told_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ("x" * 300)
    assert "name too long" in complaint(["doctor", "--json", str(path)], capsys)
    kept, new = tmp_path / "kept.json", tmp_path / "new.json"
    kept.write_text("before")
    check_json_path(kept)
    check_json_path(new)
    assert (kept.read_text(), new.exists()) == ("before", False)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_terminal_without_unicode_gets_every_word(encoding: str) -> None:
    script = (
        "import sys; from codecpilot.samples import doctor, cli; "
        "doctor.run = lambda args: print('A → B │ done') or 0; sys.exit(cli.main(['doctor']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.strip() == b"A ? B ? done"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_the_output_is_one_line_and_code_1() -> None:
    script = (
        "import sys; from codecpilot.samples import doctor, cli; "
        "doctor.run = lambda args: print('x', flush=True) or 0; sys.exit(cli.main(['doctor']))"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == 1
    assert done.stderr == b"codecpilot: [Errno 28] No space left on device\n"
