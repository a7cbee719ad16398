from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.ladder import (
    DOWN,
    FULL,
    HALF,
    QUARTER,
    SCALES,
    UP,
    SizeLadder,
    coded_size,
    legal_scales,
)

from .driver import MICRO, Run, Scenario, run
from .synthetic import SyntheticCodec

FRAME_US = 33_333
NONE: frozenset[tuple[int, int]] = frozenset()


def _steer(
    ladder: SizeLadder,
    quantizer: float,
    *,
    seconds: float,
    from_us: int = 0,
    gap_us: int = FRAME_US,
) -> int | None:
    """Time after which the scale changed, or None."""
    before = ladder.scale
    for at_us in range(from_us, from_us + round(seconds * MICRO), gap_us):
        ladder.steered(quantizer, now_us=at_us)
        if ladder.scale != before:
            return at_us - from_us
    return None


def test_starvation_makes_the_size_one_step_smaller_and_thriving_larger() -> None:
    ladder = SizeLadder()
    assert _steer(ladder, 63, seconds=10) is not None
    assert ladder.scale == HALF
    assert _steer(ladder, 63, seconds=10, from_us=20 * MICRO) is not None
    assert ladder.scale == QUARTER
    assert _steer(ladder, 63, seconds=10, from_us=40 * MICRO) is None
    assert _steer(ladder, 10, seconds=10, from_us=60 * MICRO) is not None
    assert ladder.scale == HALF
    assert _steer(ladder, 10, seconds=10, from_us=80 * MICRO) is not None
    assert ladder.scale == FULL
    assert _steer(ladder, 10, seconds=10, from_us=100 * MICRO) is None


@pytest.mark.parametrize("scale", [FULL, HALF, QUARTER])
def test_quantizers_between_the_thresholds_change_nothing(scale: Fraction) -> None:
    low, high = UP.get(scale, 0.0), DOWN.get(scale, 63.0)
    assert low + 5 < high
    for quantizer in (low + 1, (low + high) / 2, high - 1):
        ladder = SizeLadder()
        ladder.forced(scale)
        assert _steer(ladder, quantizer, seconds=60) is None


def test_a_short_starvation_is_sat_through_and_a_deeper_one_moves_sooner() -> None:
    assert _steer(SizeLadder(), 63, seconds=0.15) is None
    times = [_steer(SizeLadder(), quantizer, seconds=30) for quantizer in (58, 60, 63)]
    assert None not in times
    assert times == sorted(times, key=lambda at: -(at or 0))
    assert len(set(times)) == 3


def test_starvation_is_counted_in_time_and_not_in_frames() -> None:
    slow = _steer(SizeLadder(), 60, seconds=10, gap_us=66_667)
    fast = _steer(SizeLadder(), 60, seconds=10, gap_us=16_667)
    assert slow is not None
    assert fast == pytest.approx(slow, abs=70_000)


def test_a_pause_is_not_starvation() -> None:
    ladder = SizeLadder()
    ladder.steered(60, now_us=0)
    ladder.steered(60, now_us=60 * MICRO)
    assert ladder.scale == FULL


def test_forced_scale_stays_and_starts_counting_anew() -> None:
    ladder = SizeLadder()
    free = _steer(SizeLadder(), 63, seconds=10)
    _steer(ladder, 63, seconds=0.2)
    ladder.forced(QUARTER)
    assert ladder.scale == QUARTER
    ladder.forced(HALF)
    again = _steer(ladder, 63, seconds=10, from_us=MICRO)
    assert free is not None
    assert again is not None
    assert ladder.scale == QUARTER
    assert again > 0.9 * free


def test_nearest_is_the_wanted_scale_or_the_closest_legal_one() -> None:
    ladder = SizeLadder()
    assert ladder.nearest((FULL, HALF)) == FULL
    assert ladder.nearest((HALF, QUARTER)) == HALF
    ladder.forced(QUARTER)
    assert ladder.nearest((FULL, HALF)) == HALF


def test_coded_sizes_are_rounded_up() -> None:
    assert coded_size(641, 359, HALF) == (321, 180)
    assert coded_size(641, 359, QUARTER) == (161, 90)
    assert coded_size(1, 1, QUARTER) == (1, 1)


def test_small_pictures_are_coded_at_full_size_alone() -> None:
    assert legal_scales(160, 96, NONE) == (FULL,)
    assert legal_scales(160, 128, NONE) == (FULL, HALF)
    assert legal_scales(640, 360, NONE) == SCALES
    assert legal_scales(16, 16, NONE) == (FULL,)


@given(
    st.integers(1, 4000),
    st.integers(1, 4000),
    st.frozensets(st.tuples(st.integers(1, 4000), st.integers(1, 4000)), max_size=3),
)
def test_legal_scales_keep_every_ratio_that_av1_allows(
    width: int, height: int, held: frozenset[tuple[int, int]]
) -> None:
    scales = legal_scales(width, height, held)
    assert list(scales) == sorted(scales, reverse=True)
    for scale in scales:
        for sides in zip(coded_size(width, height, scale), *held, strict=True):
            for reference in sides[1:]:
                assert 2 * sides[0] >= reference
                assert sides[0] <= 16 * reference
    if all(2 * width >= w and width <= 16 * w for w, _ in held) and all(
        2 * height >= h and height <= 16 * h for _, h in held
    ):
        assert FULL in scales


def _changes(result: Run, *, from_s: float = 0) -> list[tuple[Fraction, Fraction]]:
    late = [row for row in result.sent if row.now_us >= from_s * MICRO]
    return [(a.scale, b.scale) for a, b in itertools.pairwise(late) if a.scale != b.scale]


@pytest.mark.parametrize("seed", range(3))
def test_size_follows_a_fall_of_the_rate_and_returns_after_it(seed: int) -> None:
    scenario = Scenario(schedule=((0, 500), (8, 30), (20, 500)), seconds=26)
    result = run(SyntheticCodec(seed=seed, complexity=3.5, noise=0.05), scenario)
    scales = {
        at: {r.scale for r in result.sent if at <= r.now_us / MICRO < at + 2} for at in (6, 17, 24)
    }
    assert scales[6] == {FULL}
    assert FULL not in scales[17]
    assert scales[24] == {FULL}
    # Down and up again, one step or two each: no swinging.
    assert 2 <= len(_changes(result)) <= 6


@pytest.mark.parametrize("kbps", [20, 50, 100, 200])
@pytest.mark.parametrize("complexity", [2.0, 3.0, 4.0, 5.0])
def test_size_does_not_swing_at_a_constant_rate(kbps: int, complexity: float) -> None:
    scenario = Scenario(schedule=((0, kbps),), seconds=30)
    result = run(SyntheticCodec(complexity=complexity, noise=0.05), scenario)
    assert len(_changes(result, from_s=4)) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_no_frame_is_coded_at_less_than_half_of_its_reference(seed: int) -> None:
    scenario = Scenario(schedule=((0, 1000), (4, 20), (8, 1000)), keys_s=(6,), seconds=12)
    result = run(SyntheticCodec(seed=seed, complexity=4.0, cut_every=50), scenario)
    deltas = [(a.scale, b.scale) for a, b in itertools.pairwise(result.sent) if b.kind != "key"]
    assert all(2 * after >= before for before, after in deltas)
    assert min(after for _, after in deltas) < FULL


def test_an_encoder_held_below_the_size_that_the_rate_allows_may_starve_there_but_not_thrive() -> (
    None
):
    thriving, starving = SizeLadder(), SizeLadder()
    for at_us in range(0, 20 * MICRO, FRAME_US):
        thriving.steered(10, now_us=at_us, coded=HALF)
        # Too coarse for the full size, and not for this one.
        starving.steered(DOWN[FULL] + 2, now_us=at_us, coded=HALF)
    assert thriving.scale == starving.scale == FULL
    for at_us in range(20 * MICRO, 40 * MICRO, FRAME_US):
        starving.steered(63, now_us=at_us, coded=starving.nearest((HALF, QUARTER)))
    assert starving.scale == QUARTER
