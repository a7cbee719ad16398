"""Scores of both sides to how a call begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.eligibility.policy import STEPS, SideReport, start_plan

PACES = [(step.width * step.height, step.fps) for step in STEPS]


def side(margin: float, *, up_to: int = 1280 * 720, slowness: float | None = 1.0) -> SideReport:
    """Holds sizes up to so many pixels by margin, larger ones not at all."""
    margins = {pace: margin if pace[0] <= up_to else -0.9 for pace in PACES}
    return SideReport(rtc_score=0.9, tier="high", send=margins, receive=margins, slowness=slowness)


def test_two_fast_sides_begin_large_on_av1_with_the_best_preset():
    plan = start_plan(side(0.1), side(0.1))
    assert (plan.codec, plan.preset, plan.max_height, plan.max_fps) == ("AV1", "default", 720, 30)


def test_the_weaker_side_sets_the_size_whichever_it_is():
    small = side(0.1, up_to=640 * 360)
    assert start_plan(small, side(0.1)).max_height == 360
    assert start_plan(side(0.1), small).max_height == 360
    assert "receiver" in start_plan(side(0.1), side(-0.5)).why


def test_a_side_that_holds_no_size_gets_h264():
    plan = start_plan(side(-0.5), side(0.1))
    assert (plan.codec, plan.max_height) == ("H264", 720)


def test_a_score_that_wavers_about_the_threshold_does_not_change_the_plan():
    first = start_plan(side(0.01), side(0.1))
    wavering = start_plan(side(-0.05), side(0.1), previous=first)
    fallen = start_plan(side(-0.09), side(0.1), previous=first)
    risen = start_plan(side(-0.05), side(0.1), previous=fallen)
    assert (first.codec, wavering.codec, fallen.codec, risen.codec) == (
        "AV1",
        "AV1",
        "H264",
        "H264",
    )


@pytest.mark.parametrize(
    ("slowness", "preset"), [(1.0, "default"), (4.6, "low"), (9.0, "ultralow"), (None, "ultralow")]
)
def test_a_slower_sender_begins_with_a_cheaper_preset(slowness, preset):
    # 1280x720 at 30 fps takes 4.6, 4.1 and 1.8 ms a picture of 20 ms there are, at slowness 1.
    assert start_plan(side(0.1, slowness=slowness), side(0.1)).preset == preset


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 0.5))
def test_better_scores_never_make_a_smaller_call(sender, receiver, more):
    plan = start_plan(side(sender), side(receiver))
    better = start_plan(side(min(1, sender + more)), side(receiver))
    assert better.step <= plan.step


def test_leaving_is_never_easier_than_entering():
    assert all(step.leave <= step.enter for step in STEPS)
    assert STEPS[-1].codec == "H264"
    assert STEPS[-1].enter <= -1
