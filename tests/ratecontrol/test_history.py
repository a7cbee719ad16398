from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.history import (
    CAPACITY,
    LOG_CHANGE_UNKNOWN,
    LOG_DETAIL_UNKNOWN,
    FrameHistory,
)
from codecpilot.ratecontrol.probe import Luma, thumbnail
from codecpilot.ratecontrol.rate_model import Scene

PIXELS = 320 * 180


def noise(seed: int = 1, *, amplitude: int = 100, width: int = 320, height: int = 180) -> Luma:
    rng = np.random.default_rng(seed)
    return rng.integers(100, 100 + amplitude, (height, width), dtype=np.uint8)


def flat(level: int) -> Luma:
    return np.full((180, 320), level, np.uint8)


def _look(
    history: FrameHistory, luma: Luma | None, *, reference_id: int | None = None, key: bool = False
) -> Scene:
    return history.look(luma, key=key, reference_id=reference_id, pixels=PIXELS)[0]


def _send(history: FrameHistory, frame_id: int, luma: Luma | None, *, coarse: float = 7.0) -> None:
    scene, samples = history.look(luma, key=frame_id == 0, reference_id=None, pixels=PIXELS)
    history.sent(frame_id, scene=scene, samples=samples, coarse=coarse)


def test_a_key_frame_has_no_change() -> None:
    scene = _look(FrameHistory(), noise(), key=True)
    assert scene.log_change is None
    assert scene.log_pixels == math.log2(PIXELS)


def test_change_is_measured_against_the_named_reference() -> None:
    history = FrameHistory()
    _send(history, 0, noise(1), coarse=6.0)
    _send(history, 1, noise(2), coarse=8.0)
    same, other = (_look(history, noise(1), reference_id=frame_id) for frame_id in (0, 1))
    assert same.log_change is not None
    assert other.log_change is not None
    assert same.log_change < -4 < 3 < other.log_change
    assert (same.reference_coarseness, other.reference_coarseness) == (6.0, 8.0)


def test_unknown_references_stand_for_the_newest() -> None:
    history = FrameHistory()
    _send(history, 0, noise(1))
    _send(history, 1, noise(2))
    for unknown in (None, 77):
        assert _look(history, noise(2), reference_id=unknown) == _look(
            history, noise(2), reference_id=1
        )


def test_a_smaller_reference_counts_as_coarse() -> None:
    history = FrameHistory()
    scene, samples = history.look(noise(), key=True, reference_id=None, pixels=PIXELS // 4)
    history.sent(0, scene=scene, samples=samples, coarse=5.0)
    assert _look(history, noise(), reference_id=0).reference_coarseness > 10
    shrunk = history.look(noise(), key=False, reference_id=0, pixels=PIXELS // 16)[0]
    assert shrunk.reference_coarseness == 5.0


def test_unknown_pixels_get_assumed_values() -> None:
    history = FrameHistory()
    assert _look(history, None, key=True).log_detail == LOG_DETAIL_UNKNOWN
    _send(history, 0, None)
    assert _look(history, noise()).log_change == LOG_CHANGE_UNKNOWN
    assert _look(history, None).log_change == LOG_CHANGE_UNKNOWN


def test_old_frames_are_forgotten() -> None:
    history = FrameHistory()
    for frame_id in range(CAPACITY + 1):
        _send(history, frame_id, flat(100), coarse=3.0 + frame_id / 100)
    newest = 3.0 + CAPACITY / 100
    assert _look(history, flat(100), reference_id=0).reference_coarseness == newest
    assert _look(history, flat(100), reference_id=1).reference_coarseness == 3.01


def test_detail_is_measured_anew_after_a_cut() -> None:
    history = FrameHistory()
    _send(history, 0, flat(50))
    assert _look(history, noise(3)).log_detail > 3
    assert _look(history, flat(50)).log_detail < 0


def test_detail_and_change_grow_with_contrast_and_ignore_camera_noise() -> None:
    details = [thumbnail(noise(amplitude=a)).log_detail() for a in (2, 10, 50, 150)]
    assert details == sorted(details)
    still, noisy = thumbnail(flat(100)), thumbnail(noise(amplitude=2))
    moved = thumbnail(flat(103)).log_change(still)
    assert noisy.log_change(still) == still.log_change(still)
    assert moved == pytest.approx(1.0, abs=0.1)


def test_pictures_of_two_sizes_have_no_known_change() -> None:
    assert thumbnail(noise()).log_change(thumbnail(noise(width=100, height=300))) is None


@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 255))
def test_any_picture_can_be_probed(width: int, height: int, level: int) -> None:
    one = thumbnail(np.full((height, width), level, np.uint8))
    change = one.log_change(one)
    assert math.isfinite(one.log_detail())
    assert change is not None
    assert math.isfinite(change)


def test_samples_do_not_hold_the_picture() -> None:
    luma = noise()
    samples = thumbnail(luma)
    before = samples.log_detail()
    luma[:] = 0
    assert samples.log_detail() == before
