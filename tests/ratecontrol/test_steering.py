from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.messages import FrameKind
from codecpilot.ratecontrol.quantizer_scale import coarseness
from codecpilot.ratecontrol.rate_model import RateModel
from codecpilot.ratecontrol.settings import ControllerSettings
from codecpilot.ratecontrol.steering import QuantizerSteering, Situation

from .test_rate_model import scene

SETTINGS = ControllerSettings()
AMPLE_BITS = 10_000_000
USUAL = Situation(
    kind=FrameKind.DELTA,
    target_bps=200_000,
    gap_us=33_333,
    level_bits=6_600,
    room_bits=AMPLE_BITS,
    scene=scene(reference=40),
)


def _choice(situation: Situation, settings: ControllerSettings = SETTINGS) -> int:
    return QuantizerSteering(settings).choose(situation, RateModel())


def test_more_rate_is_finer_and_more_backlog_coarser() -> None:
    by_rate = [_choice(replace(USUAL, target_bps=bps)) for bps in (50_000, 200_000, 800_000)]
    assert by_rate == sorted(by_rate, reverse=True)
    assert by_rate[0] > by_rate[2]
    by_level = [_choice(replace(USUAL, level_bits=bits)) for bits in (-10_000, 6_600, 15_000)]
    assert by_level == sorted(by_level)
    assert by_level[0] < by_level[2]


def test_an_even_share_is_what_is_planned_at_the_wanted_level() -> None:
    """Where the level is the residual and the picture is like its reference's, no debt is planned."""
    level = USUAL.target_bps * SETTINGS.residual_us // 1_000_000
    situation = replace(USUAL, level_bits=level)
    for _ in range(30):
        quantizer = _choice(situation)
        situation = replace(situation, scene=scene(reference=quantizer))
    bits = RateModel().bits(situation.scene, coarse=coarseness(quantizer))
    assert bits == pytest.approx(200_000 / 30, rel=0.2)


@pytest.mark.parametrize("gap_us", [16_667, 66_667])
def test_backlog_is_corrected_over_the_horizon_at_any_frame_rate(gap_us: int) -> None:
    """Half a share's rate is left by a backlog of half the horizon: 100 ms over the residual."""
    level = USUAL.target_bps * (SETTINGS.residual_us + SETTINGS.horizon_us // 2) // 1_000_000
    situation = replace(USUAL, level_bits=level, gap_us=gap_us)
    for _ in range(30):
        quantizer = _choice(situation)
        situation = replace(situation, scene=scene(reference=quantizer))
    bits = RateModel().bits(situation.scene, coarse=coarseness(quantizer))
    assert bits == pytest.approx(100_000 * gap_us / 1_000_000, rel=0.2)


def test_a_picture_that_would_not_fit_its_room_is_coarser_and_steering_stays() -> None:
    steering, model = QuantizerSteering(SETTINGS), RateModel()
    usual = steering.choose(USUAL, model)
    tight = steering.choose(replace(USUAL, room_bits=1_500), model)
    assert tight > usual
    assert model.bits(USUAL.scene, coarse=coarseness(tight)) <= 1_500
    assert steering.choose(USUAL, model) == usual


def test_small_moves_of_demand_leave_the_quantizer_alone() -> None:
    steering, model = QuantizerSteering(SETTINGS), RateModel()
    choices = [
        steering.choose(replace(USUAL, level_bits=6_600 + (-1) ** i * 200), model)
        for i in range(20)
    ]
    assert len(set(choices)) == 1


@pytest.mark.parametrize("target_bps", [100_000, 300_000])
def test_kinds_are_offset_from_one_base(target_bps: int) -> None:
    steering, model = QuantizerSteering(SETTINGS), RateModel()
    situation = replace(USUAL, target_bps=target_bps)
    base = steering.choose(situation, model)
    upper = steering.choose(replace(situation, kind=FrameKind.ENHANCEMENT), model)
    long_term = steering.choose(replace(situation, kind=FrameKind.LTR), model)
    assert upper - base == SETTINGS.enhancement_steps
    assert base - long_term == SETTINGS.ltr_steps


def test_a_key_frame_takes_its_room_at_first_and_is_near_the_others_later() -> None:
    model, steering = RateModel(), QuantizerSteering(SETTINGS)
    key = replace(USUAL, kind=FrameKind.KEY, room_bits=34_000, scene=scene(change=None))
    first = steering.choose(key, model)
    assert model.bits(key.scene, coarse=coarseness(first)) <= 34_000
    base = steering.choose(replace(USUAL, target_bps=50_000), model)
    later = steering.choose(replace(key, room_bits=AMPLE_BITS), model)
    assert first > SETTINGS.min_quantizer
    assert base - 12 <= later <= base


def test_a_smaller_size_starts_finer() -> None:
    steering, model = QuantizerSteering(SETTINGS), RateModel()
    for _ in range(20):
        steering.choose(USUAL, model)
        steering.observed(model.demand(USUAL.scene), kind=FrameKind.DELTA, gap_us=33_333)
    before = steering.base_quantizer
    steering.rescaled(0.25)
    half = scene(reference=40, pixels=160 * 90)
    steering.choose(replace(USUAL, scene=half), model)
    assert steering.base_quantizer < before - 3


def test_one_outlier_moves_the_mean_demand_little() -> None:
    steering, model = QuantizerSteering(SETTINGS), RateModel()
    choices = []
    for index in range(40):
        demand = model.demand(USUAL.scene) + (10.0 if index == 30 else 0.0)
        steering.observed(demand, kind=FrameKind.DELTA, gap_us=33_333)
        choices.append(steering.choose(USUAL, model))
    assert 0 <= choices[30] - choices[29] <= 12
    assert abs(choices[39] - choices[29]) <= 6
    assert statistics.mode(choices) == choices[29]


@given(
    st.sampled_from(FrameKind),
    st.integers(1, 10_000_000),
    st.integers(1_000, 300_000),
    st.integers(-1_000_000, 10_000_000),
    st.integers(0, 10_000_000),
    st.integers(0, 63),
    st.integers(0, 63),
)
def test_every_choice_lies_in_the_range_in_use(
    kind: FrameKind, bps: int, gap_us: int, level: int, room: int, low: int, reference: int
) -> None:
    settings = ControllerSettings(min_quantizer=low, max_quantizer=max(low, 60))
    situation = Situation(
        kind=kind,
        target_bps=bps,
        gap_us=gap_us,
        level_bits=level,
        room_bits=room,
        scene=scene(change=None if kind is FrameKind.KEY else 1.0, reference=reference),
    )
    assert low <= _choice(situation, settings) <= max(low, 60)
