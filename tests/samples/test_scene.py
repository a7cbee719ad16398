"""The procedural scene: repeatable, of any size, moving, noisy, and cheap."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.h264_encoder import H264Encoder
from codecpilot.codecs.pictures import i420_from_picture
from codecpilot.codecs.types import EncodeRequest
from codecpilot.samples.scene import Motion, Scene, tone


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene(width=320, height=180, fps=30, seed=1)


def test_a_picture_depends_on_seed_index_and_size_alone(scene: Scene) -> None:
    late_first = Scene(width=320, height=180, fps=30, seed=1)
    late = late_first.picture(40)
    assert i420_from_picture(late_first.picture(3)) == i420_from_picture(scene.picture(3))
    assert i420_from_picture(scene.picture(40)) == i420_from_picture(late)
    other = Scene(width=320, height=180, fps=30, seed=2)
    assert np.mean(np.abs(other.picture(3).y.astype(int) - scene.picture(3).y)) > 2


@pytest.mark.parametrize("size", [(16, 16), (17, 33), (97, 41), (40, 300), (640, 360), (641, 361)])
def test_any_size_from_16_pixels_on_is_drawn(size: tuple[int, int]) -> None:
    picture = Scene(width=size[0], height=size[1]).picture(5)
    assert (picture.width, picture.height) == size
    assert picture.y.std() > 8, "nothing is drawn"


def test_capture_times_follow_the_rate() -> None:
    scene = Scene(width=64, height=64, fps=Fraction(30_000, 1001))
    assert [scene.picture(i).capture_us for i in (0, 1, 30)] == [0, 33_367, 1_001_000]


def test_neighbours_differ_by_noise_and_some_motion_only(scene: Scene) -> None:
    pictures = [scene.picture(index).y.astype(int) for index in range(30)]
    steps = [np.mean(np.abs(b - a)) for a, b in pairwise(pictures)]
    assert min(steps) > 1.0
    assert max(steps) < 6
    assert np.mean(np.abs(pictures[29] - pictures[0])) > 1.5 * float(np.median(steps))


def test_it_compresses_like_a_webcam(scene: Scene) -> None:
    """At 100 kbps a webcam, a talking head and foreman take QP 22, 27 and 31 at this size."""
    codec = H264Encoder(width=320, height=180, fps=30)
    frames = [
        codec.encode(
            EncodeRequest(
                picture=scene.picture(index),
                frame_id=index,
                quantizer=0,
                target_bps=100_000,
                key=index == 0,
                reads=() if index == 0 else (0,),
            )
        )
        for index in range(75)
    ]
    settled = frames[30:]
    assert 80_000 < sum(len(f.data) for f in settled) * 8 * 30 / len(settled) < 120_000
    assert 22 < np.mean([f.quantizer for f in settled]) < 31


def test_a_picture_costs_little_processor_time() -> None:
    scene = Scene(width=640, height=360)
    scene.picture(0)
    costs = []
    for index in range(1, 13):
        start = time.process_time()
        scene.picture(index)
        costs.append(time.process_time() - start)
    assert 0.0 < min(costs) < 0.006


def test_the_eyes_blink_and_the_mouth_moves_and_rests() -> None:
    poses = [Motion(0).pose(n / 30) for n in range(300)]
    assert min(p.lids for p in poses) < 0.4
    assert np.mean([p.lids == 1.0 for p in poses]) > 0.85
    assert min(p.mouth for p in poses) == 0.0
    assert max(p.mouth for p in poses) > 0.7


@pytest.mark.parametrize("size", [(15, 100), (100, 15), (0, 0), (-4, 20), (20_000, 100)])
def test_other_sizes_are_refused(size: tuple[int, int]) -> None:
    with pytest.raises(LocalError, match=f"{size[0]}x{size[1]}"):
        Scene(width=size[0], height=size[1])


def test_the_tone_is_loud_in_phrases_silent_between_and_joins_without_a_click() -> None:
    blocks = [tone(index) for index in range(400)]
    assert {(block.shape, block.dtype.name) for block in blocks} == {((960,), "int16")}
    peaks = np.array([np.abs(block.astype(int)).max() for block in blocks])
    assert 3000 < peaks.max() < 8192
    assert 0.1 < np.mean(peaks < 50) < 0.6
    sound = np.concatenate(blocks).astype(int)
    assert np.abs(np.diff(sound)).max() < 2000
    assert np.array_equal(tone(7), blocks[7])
