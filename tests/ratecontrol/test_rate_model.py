from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.quantizer_scale import coarseness
from codecpilot.ratecontrol.rate_model import OVERHEAD_BITS, RateModel, Scene


def scene(*, change: float | None = 1.0, reference: int = 40, pixels: int = 320 * 180) -> Scene:
    return Scene(
        log_detail=2.0,
        log_change=change,
        reference_coarseness=coarseness(reference),
        log_pixels=math.log2(pixels),
    )


KEY = scene(change=None)
scenes = st.builds(
    Scene,
    log_detail=st.floats(-2, 7),
    log_change=st.one_of(st.none(), st.floats(-5, 7)),
    reference_coarseness=st.floats(2, 10.8),
    log_pixels=st.floats(8, 23),
)


@given(scenes)
def test_bits_fall_as_the_quantizer_rises(one: Scene) -> None:
    bits = [RateModel().bits(one, coarse=coarseness(q)) for q in range(64)]
    assert bits == sorted(bits, reverse=True)
    assert all(math.isfinite(b) and b >= OVERHEAD_BITS for b in bits)


def test_more_pixels_change_or_detail_take_more_bits() -> None:
    model, coarse = RateModel(), coarseness(40)
    assert model.bits(scene(), coarse=coarse) < model.bits(scene(pixels=640 * 360), coarse=coarse)
    assert model.bits(scene(), coarse=coarse) < model.bits(scene(change=3.0), coarse=coarse)
    assert model.bits(scene(), coarse=coarse) < model.bits(KEY, coarse=coarse)


def test_a_finer_quantizer_than_the_reference_pays_for_refinement() -> None:
    model = RateModel()
    assert model.curve(scene(reference=40)).refinement(coarseness(40)) == 0
    assert model.curve(scene(reference=40)).refinement(coarseness(45)) == 0
    few, many = (model.curve(scene(reference=40)).refinement(coarseness(q)) for q in (38, 30))
    assert 0 < few < many


@given(scenes, st.floats(0, 1e7))
def test_quantizer_for_is_the_finest_that_fits(one: Scene, bits: float) -> None:
    model = RateModel()
    quantizer = model.quantizer_for(one, bits=bits)
    assert 0 <= quantizer <= 63
    assert quantizer == 63 or model.bits(one, coarse=coarseness(quantizer)) <= bits
    assert quantizer == 0 or model.bits(one, coarse=coarseness(quantizer - 1)) > bits


@pytest.mark.parametrize("factor", [0.125, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("one", [scene(), KEY], ids=["delta", "key"])
def test_learns_content_that_takes_other_bits_than_expected(one: Scene, factor: float) -> None:
    model, rng = RateModel(), random.Random(1)
    true = round(factor * RateModel().bits(one, coarse=coarseness(45))) + OVERHEAD_BITS
    for _ in range(40):
        model.observe(one, quantizer=45, bits=round(true * 2 ** rng.gauss(0, 0.1)))
    assert abs(model.error(one, quantizer=45, bits=true)) < 0.25
    if one is not KEY:
        # What was learned at one quantizer holds at another.
        other = RateModel().bits(one, coarse=coarseness(55)) - OVERHEAD_BITS
        learned = model.bits(one, coarse=coarseness(55)) - OVERHEAD_BITS
        assert math.log2(learned / other) == pytest.approx(math.log2(factor), abs=0.8)


def test_one_absurd_size_moves_the_model_by_a_bounded_step() -> None:
    for bits in (0, 100_000_000):
        model = RateModel()
        for _ in range(10):
            model.observe(scene(), quantizer=45, bits=1_500)
        before = model.demand(scene())
        model.observe(scene(), quantizer=45, bits=bits)
        assert 0 < abs(model.demand(scene()) - before) <= 1.5


def test_key_frames_teach_nothing_of_other_frames_and_the_reverse() -> None:
    model = RateModel()
    before = model.demand(scene())
    model.observe(KEY, quantizer=40, bits=200_000)
    assert model.demand(scene()) == before
    expected = model.bits(KEY, coarse=coarseness(40))
    model.observe(scene(reference=63), quantizer=63, bits=50_000)
    assert model.bits(KEY, coarse=coarseness(40)) == expected


@given(scenes, st.integers(0, 63), st.integers(0, 10_000_000))
def test_what_a_frame_shows_lies_between_its_reference_and_its_quantizer(
    one: Scene, quantizer: int, bits: int
) -> None:
    shown = RateModel().shown(one, quantizer=quantizer, bits=bits)
    if one.log_change is None:
        assert shown == coarseness(quantizer)
    else:
        ends = sorted((one.reference_coarseness, coarseness(quantizer)))
        assert ends[0] - 1e-9 <= shown <= ends[1] + 1e-9


@given(st.lists(st.tuples(scenes, st.integers(0, 63), st.integers(0, 50_000_000)), max_size=60))
def test_no_history_breaks_the_model(history: list[tuple[Scene, int, int]]) -> None:
    model = RateModel()
    for one, quantizer, bits in history:
        model.observe(one, quantizer=quantizer, bits=bits)
        shown = model.shown(one, quantizer=quantizer, bits=bits)
        assert math.isfinite(shown)
        assert math.isfinite(model.bits(one, coarse=coarseness(quantizer)))
