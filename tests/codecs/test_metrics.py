"""Quality metrics against independent computations of the same definitions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from codecpilot.codecs import vmaf as vmaf_module
from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.metrics import psnr, psnr_y, ssim_y
from codecpilot.codecs.pictures import i420_from_picture, new_picture, scale_picture
from codecpilot.codecs.types import Picture
from codecpilot.codecs.vmaf import vmaf

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the evaluation extra")


def textured(index: int, *, width: int = 72, height: int = 57) -> Picture:
    rng = np.random.default_rng(index // 2)
    picture = new_picture(width, height)
    coarse = new_picture(width // 4, height // 4)
    coarse.y[...] = rng.integers(16, 235, coarse.y.shape)
    picture.y[...] = np.roll(scale_picture(coarse, width=width, height=height).y, index, axis=1)
    return picture


def blurred(picture: Picture, factor: int = 2) -> Picture:
    small = scale_picture(picture, width=picture.width // factor, height=picture.height // factor)
    return scale_picture(small, width=picture.width, height=picture.height)


CLIP = [textured(index) for index in range(8)]
WORSE = [blurred(picture, 2 + index % 2) for index, picture in enumerate(CLIP)]


def test_luma_psnr_is_that_of_the_definition() -> None:
    error = np.mean((CLIP[0].y.astype(float) - WORSE[0].y) ** 2)
    assert psnr_y(CLIP[0], WORSE[0]) == pytest.approx(10 * np.log10(255**2 / error), abs=1e-6)


def test_psnr_counts_every_sample_of_the_three_planes_alike() -> None:
    other = new_picture(72, 57)
    np.copyto(other.y, CLIP[0].y)
    other.u[...] += 10
    samples = other.y.size + 2 * other.u.size
    expected = 10 * np.log10(255**2 * samples / (100 * other.u.size))
    assert psnr(CLIP[0], other) == pytest.approx(expected, abs=1e-6)
    assert psnr_y(CLIP[0], other) == 100.0


def test_identical_pictures_give_the_cap_and_one() -> None:
    assert psnr(CLIP[0], CLIP[0]) == psnr_y(CLIP[0], CLIP[0]) == 100.0
    assert ssim_y(CLIP[0], CLIP[0]) == pytest.approx(1.0, abs=1e-6)


def direct_ssim(a: np.ndarray, b: np.ndarray) -> float:
    """Wang et al., equation 13, window by window in double precision."""
    taps = np.exp(-((np.arange(11) - 5.0) ** 2) / (2 * 1.5**2))
    kernel = np.outer(taps, taps) / taps.sum() ** 2
    x, y = (
        np.lib.stride_tricks.sliding_window_view(np.pad(p.astype(float), 5, "reflect"), (11, 11))
        for p in (a, b)
    )
    mean_x, mean_y = (kernel * x).sum(axis=(2, 3)), (kernel * y).sum(axis=(2, 3))
    dx, dy = x - mean_x[..., None, None], y - mean_y[..., None, None]
    var_x, var_y, cov = ((kernel * d).sum(axis=(2, 3)) for d in (dx * dx, dy * dy, dx * dy))
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    top = (2 * mean_x * mean_y + c1) * (2 * cov + c2)
    return float(np.mean(top / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))))


def test_ssim_is_that_of_the_definition() -> None:
    for a, b in zip(CLIP[:3], WORSE[:3], strict=True):
        assert ssim_y(a, b) == pytest.approx(direct_ssim(a.y, b.y), abs=1e-4)
        assert 0.3 < ssim_y(a, b) < 0.999


def test_pictures_of_two_sizes_are_refused() -> None:
    for measure in (psnr, psnr_y, ssim_y):
        with pytest.raises(LocalError, match="72x57 and 36x28"):
            measure(CLIP[0], new_picture(36, 28))


def ffmpeg_vmaf(folder: Path, reference: list[Picture], distorted: list[Picture]) -> list[float]:
    """The same clips through two files, matched by ffmpeg's own timestamps."""
    names = []
    for name, pictures in (("reference.yuv", reference), ("distorted.yuv", distorted)):
        (folder / name).write_bytes(b"".join(i420_from_picture(p) for p in pictures))
        names.append(name)
    raw = [
        "-f",
        "rawvideo",
        "-pix_fmt",
        "yuv420p",
        "-video_size",
        "72x57",
        "-framerate",
        "30",
        "-i",
    ]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", *raw, names[1], *raw, names[0]]
    command += ["-lavfi", "libvmaf=log_fmt=json:log_path=out.json", "-f", "null", "-"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    log = json.loads((folder / "out.json").read_text())
    return [frame["metrics"]["vmaf"] for frame in log["frames"]]


def test_vmaf_scores_each_pair_as_ffmpeg_does_with_two_files(tmp_path: Path) -> None:
    score = vmaf(CLIP, WORSE, fps=30)
    assert score.frames == pytest.approx(ffmpeg_vmaf(tmp_path, CLIP, WORSE), abs=0.01)
    assert score.mean == pytest.approx(np.mean(score.frames), abs=0.01)
    assert len(score.frames) == len(CLIP)


def test_vmaf_of_identical_clips_is_near_100_and_of_worse_ones_lower() -> None:
    same, worse = vmaf(CLIP, CLIP, fps=30).mean, vmaf(CLIP, WORSE, fps=30).mean
    assert 95 < same <= 100
    assert 0 <= worse < same - 5


def test_vmaf_of_every_third_picture_is_the_score_of_those() -> None:
    every, third = vmaf(CLIP, WORSE, fps=30), vmaf(CLIP, WORSE, fps=30, subsample=3)
    assert len(third.frames) == 3
    assert third.frames[0] == pytest.approx(every.frames[0], abs=0.01)


def test_vmaf_takes_streams_that_are_read_once() -> None:
    def stream(pictures: list[Picture]) -> Iterator[Picture]:
        yield from pictures

    assert len(vmaf(stream(CLIP), stream(WORSE), fps=30).frames) == len(CLIP)


@pytest.mark.parametrize(
    ("reference", "distorted", "part"),
    [
        ([], [], "no pictures"),
        (CLIP[:3], WORSE[:2], "different numbers"),
        (CLIP[:2], [WORSE[0], new_picture(36, 28)], "36x28 among 72x57"),
        ([new_picture(16, 16)], [new_picture(16, 16)], "32 px"),
    ],
)
def test_vmaf_refuses_clips_that_do_not_match(
    reference: list[Picture], distorted: list[Picture], part: str
) -> None:
    with pytest.raises(LocalError, match=part):
        vmaf(reference, distorted, fps=30)


def test_an_error_in_the_callers_pictures_comes_through_and_nothing_hangs() -> None:
    def failing() -> Iterator[Picture]:
        yield from CLIP[:4]
        raise LocalError("the clip broke")

    with pytest.raises(LocalError, match="the clip broke"):
        vmaf(failing(), WORSE, fps=30)


def test_a_stuck_ffmpeg_is_ended_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = tmp_path / "ffmpeg"
    stuck.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    stuck.chmod(0o755)
    monkeypatch.setattr(vmaf_module, "_ffmpeg", lambda: str(stuck))
    monkeypatch.setattr(vmaf_module, "STALL_S", 0.3)
    with pytest.raises(LocalError, match="stuck"):
        vmaf(CLIP, WORSE, fps=30)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(LocalError, match=r"pip install -e .\.\[evaluation\]"):
        vmaf(CLIP, WORSE, fps=30)
