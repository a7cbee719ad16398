"""What cannot be evaluated is said in one line, with exit code 2, before anything is encoded."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import av
import numpy as np
import pytest

from codecpilot.samples.cli import main
from codecpilot.samples.evaluate import evaluation

from .clip_files import write_y4m


def complaint(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    try:
        code: object = main(["evaluate", *args])
    except SystemExit as leaving:
        code = leaving.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    return captured.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--schedule 0:300,x", "schedule step 'x' is not SECONDS:KBPS"),
        ("--schedule 0:300,6:50,3:100", "3 s comes after 6 s"),
        ("--schedule 0:-300", "rate -300 is below 0"),
        ("--bitrates 50,0", "--bitrates: rate 0 kbps is outside 1..1000000"),
        ("--bitrates 50,-100", "--bitrates: rate -100 is below 0"),
        ("--bitrates 50,,100", "--bitrates: rate '' is not a number"),
        ("--codecs av1:default,vp9", "--codecs: codec 'vp9' is none of"),
        ("--codecs av1:turbo", "--codecs: preset 'turbo' of av1 is none of"),
        ("--metrics psnr,mos", "--metrics: 'mos' is none of vmaf, psnr, ssim"),
        ("--size 640", "--size '640' is not WIDTHxHEIGHT"),
        ("--size 0x64", "a picture of 0x64"),
        (f"--size {'9' * 5000}x64", "is not WIDTHxHEIGHT"),
        (f"--capture-gaps 0-{'9' * 5000}", "is not LOW-HIGH"),
        (f"--frames {10**22}", "is above 100000000"),
        ("--fps 0", "--fps '0' is not a number from 1 to 240"),
        ("--fps fast", "--fps 'fast' is not a number"),
        ("--frames 0", "--frames 0 is below 1"),
        ("--vmaf-every 0", "--vmaf-every 0 is below 1"),
        ("--key-frames 1,a", "--key-frames '1,a': seconds"),
        ("--key-frames=-1", "--key-frames '-1': times are 0 or more"),
        ("--capture-gaps 5", "--capture-gaps '5' is not LOW-HIGH"),
        ("--capture-gaps 0-0", "time would stand still"),
        ("--jobs 0", "--jobs 0 is outside 1..256"),
        ("--jobs many", "argument --jobs: invalid int value"),
    ],
)
def test_a_wrong_option_is_named(
    options: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = write_y4m(tmp_path / "clip.y4m", 2)
    args = [str(clip), "--out", str(tmp_path / "out"), *options.split()]
    assert words in complaint(args, capsys)
    assert not list(tmp_path.glob("out/runs"))


def test_out_has_to_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--out" in complaint(["clip.y4m"], capsys)


def test_files_without_pictures_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "notes.mp4"
    text.write_text("no video at all")
    sound = tmp_path / "sound.wav"
    with av.open(str(sound), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), layout="mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
    out = ["--out", str(tmp_path / "out")]
    assert "no such file" in complaint([str(tmp_path / "missing.mp4"), *out], capsys)
    assert "not a readable media file" in complaint([str(text), *out], capsys)
    assert "no video stream" in complaint([str(sound), *out], capsys)
    assert "a directory" in complaint([str(tmp_path), *out], capsys)


def test_raw_video_needs_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "clip.yuv"
    raw.write_bytes(bytes(64 * 64 * 3 // 2))
    out = ["--out", str(tmp_path / "out")]
    assert "needs its size" in complaint([str(raw), *out], capsys)
    assert "no whole number of 50x50" in complaint([str(raw), "--size", "50x50", *out], capsys)


def test_a_folder_that_cannot_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = write_y4m(tmp_path / "clip.y4m", 2)
    taken = tmp_path / "taken"
    taken.write_text("a file")
    assert "cannot be written to" in complaint([str(clip), "--out", str(taken)], capsys)
    if os.name == "posix" and os.geteuid() != 0:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        assert "cannot be written to" in complaint([str(clip), "--out", str(closed)], capsys)


def test_vmaf_says_what_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = ["--out", str(tmp_path / "out")]
    small = write_y4m(tmp_path / "small.y4m", 2, width=48, height=24)
    assert "VMAF needs 32 pixels a side, got 48x24" in complaint([str(small), *out], capsys)
    real = importlib.util.find_spec
    monkeypatch.setattr(
        evaluation.importlib.util,
        "find_spec",
        lambda name, package=None: None if name == "imageio_ffmpeg" else real(name, package),
    )
    assert "evaluation extra" in complaint([str(small), *out], capsys)
