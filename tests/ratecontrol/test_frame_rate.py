from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.ratecontrol.frame_rate import HEADER_BITS, RUNGS, FrameRateLadder
from codecpilot.rtc.playout.freezes import FreezeDetector

MICRO = 1_000_000


class Camera:
    """Captures at a steady pace, and asks the ladder at every picture."""

    def __init__(self, *, fps: float = 30) -> None:
        self.ladder = FrameRateLadder()
        self.gap_us = MICRO / fps
        self.now_us = 1_000_000.0
        self.everies: list[int] = []

    def run(self, target_bps: int, *, seconds: float, jitter_us: int = 0, seed: int = 0):
        """Capture times of the pictures that were kept."""
        rng, kept, end_us = random.Random(seed), [], self.now_us + seconds * MICRO
        while self.now_us < end_us:
            capture_us = round(self.now_us) + rng.randint(-jitter_us, jitter_us)
            if self.ladder.keeps(capture_us):
                kept.append(capture_us)
                self.ladder.decide(target_bps, now_us=capture_us)
            self.everies.append(self.ladder.every)
            self.now_us += self.gap_us
        return kept

    @property
    def changes(self) -> int:
        return sum(a != b for a, b in itertools.pairwise(self.everies))


def _gaps_ms(kept: list[int]) -> set[int]:
    return {round((b - a) / 1000) for a, b in itertools.pairwise(kept)}


@pytest.mark.parametrize(
    ("fps", "target_bps", "gap_ms"),
    [
        (30, 300_000, 33),
        (30, 75_000, 33),
        (30, 38_000, 67),
        (30, 9_000, 100),
        (60, 300_000, 17),
        (60, 100_000, 33),
        (60, 25_000, 67),
        (25, 38_000, 80),
        (25, 9_000, 80),
        (24, 300_000, 42),
        (20, 38_000, 50),
        (15, 9_000, 67),
        (10, 9_000, 100),
        (5, 9_000, 200),
    ],
)
def test_the_first_rate_chooses_an_even_pace_within_a_second(fps, target_bps, gap_ms):
    camera = Camera(fps=fps)
    camera.run(target_bps, seconds=1)
    kept = camera.run(target_bps, seconds=3)
    assert all(abs(gap - gap_ms) <= 1 for gap in _gaps_ms(kept))


@pytest.mark.parametrize("jitter_us", [0, 3_000, 8_000])
def test_pictures_that_come_unsteadily_are_left_out_as_evenly(jitter_us):
    camera = Camera()
    kept = camera.run(38_000, seconds=20, jitter_us=jitter_us)
    gaps = [b - a for a, b in itertools.pairwise(kept)]
    assert min(gaps) >= 66_667 - 17_000 - 2 * jitter_us
    assert max(gaps) <= 66_667 + 2 * jitter_us + 1
    assert len(kept) == pytest.approx(300, abs=2 + jitter_us // 1000)


def test_a_deep_fall_is_followed_soon_and_rung_by_rung():
    camera = Camera()
    camera.run(300_000, seconds=5)
    camera.run(12_000, seconds=1)
    assert camera.ladder.every == 2
    camera.run(12_000, seconds=2)
    assert camera.ladder.every == 3
    assert camera.changes == 2


def test_a_rate_that_comes_back_gives_all_pictures_back_at_once_if_the_last_change_is_old():
    camera = Camera()
    camera.run(12_000, seconds=5)
    assert camera.ladder.every == 3
    camera.run(300_000, seconds=0.4)
    assert camera.ladder.every == 3
    camera.run(300_000, seconds=1.0)
    assert camera.ladder.every == 1
    camera.run(25_000, seconds=0.6)
    assert camera.ladder.every == 2
    camera.run(300_000, seconds=1.2)
    assert camera.ladder.every == 2
    camera.run(300_000, seconds=1)
    assert camera.ladder.every == 1


def test_a_short_fall_changes_nothing():
    camera = Camera()
    camera.run(300_000, seconds=5)
    camera.run(30_000, seconds=0.4)
    camera.run(300_000, seconds=5)
    assert camera.changes == 0


@pytest.mark.parametrize("rung", RUNGS)
def test_rates_between_the_thresholds_keep_the_rung_that_is_taken(rung):
    """Also as the headers of fewer or more pictures come off what is left for the encoder."""
    index = RUNGS.index(rung)
    middle_bps = (rung.down_bps + rung.up_bps) // 2
    low_bps = (RUNGS[index + 1].up_bps if rung is not RUNGS[-1] else 0) + 2_000
    for begin_bps in (rung.up_bps * 5 // 4, low_bps):
        camera = Camera(fps=60)
        _hold_wire(camera, begin_bps, seconds=20)
        before = camera.ladder.every
        _hold_wire(camera, middle_bps, seconds=30)
        assert camera.ladder.every == before


def _hold_wire(camera: Camera, wire_bps: int, *, seconds: float) -> None:
    """The path carries wire_bps, and tells of the headers that were sent in the second before."""
    lag = [camera.ladder.interval_us] * 10
    for _ in range(round(10 * seconds)):
        headers_bps = sum(HEADER_BITS * MICRO // interval for interval in lag) // len(lag)
        camera.run(max(1_000, wire_bps - headers_bps), seconds=0.1)
        lag = [*lag[1:], camera.ladder.interval_us]


@pytest.mark.parametrize("wire_kbps", range(14, 200, 6))
def test_a_steady_path_never_swings(wire_kbps):
    camera = Camera(fps=60)
    _hold_wire(camera, 400_000, seconds=3)
    _hold_wire(camera, wire_kbps * 1000, seconds=40)
    settled = camera.changes
    assert settled <= 3
    _hold_wire(camera, wire_kbps * 1000, seconds=30)
    assert camera.changes == settled


@given(
    rates=st.lists(st.integers(5_000, 500_000), min_size=1, max_size=12),
    fps=st.sampled_from([5, 10, 15, 24, 25, 30, 50, 60]),
    seconds=st.floats(0.2, 6),
)
@settings(max_examples=40, deadline=None)
def test_no_change_looks_like_a_freeze_and_none_follows_another_within_a_second(
    rates, fps, seconds
):
    camera, freezes = Camera(fps=fps), FreezeDetector()
    for at_us in camera.run(rates[0], seconds=4):
        assert not freezes.shown(at_us)
    camera.everies.clear()
    for rate in rates:
        for at_us in camera.run(rate, seconds=seconds):
            assert not freezes.shown(at_us)
    moves = [i for i, (a, b) in enumerate(itertools.pairwise(camera.everies)) if a != b]
    assert all((b - a) * camera.gap_us >= 0.95 * MICRO for a, b in itertools.pairwise(moves))


def test_a_source_that_changes_its_own_pace_is_followed():
    camera = Camera(fps=30)
    camera.run(38_000, seconds=5)
    assert camera.ladder.every == 2
    camera.gap_us = MICRO / 15
    camera.run(38_000, seconds=3)
    assert camera.ladder.every == 1
    assert camera.ladder.interval_us == pytest.approx(66_667, rel=0.02)


def test_times_that_run_backwards_or_stand_still_stop_nothing():
    ladder = FrameRateLadder()
    ladder.decide(20_000, now_us=50)
    assert ladder.keeps(10_000_000)
    assert ladder.keeps(1_000)
    ladder.decide(20_000, now_us=0)
    assert not ladder.keeps(1_000)
    assert ladder.keeps(90_000_000)
    assert ladder.interval_us > 0
