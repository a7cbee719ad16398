from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.codec_ladder import (
    BACK_RATIO,
    HOLD_US,
    CodecLadder,
    held_by_h264_bps,
)

AV1, H264 = Codec.AV1, Codec.H264
PICTURE = (640, 360)
HELD_BPS = held_by_h264_bps(PICTURE)
LOW_BPS, HIGH_BPS = HELD_BPS // 2, round(2 * BACK_RATIO * HELD_BPS)
STEP_US = 100_000


class Using:
    """A stream that does as the ladder proposes."""

    def __init__(self, *codecs: Codec, codec: Codec | None = None) -> None:
        self.ladder = CodecLadder(codecs)
        self.codec = codec or codecs[0]
        self.now_us = 5_000_000
        self.switches_us: list[int] = []

    def run(self, target_bps: int, *, seconds: float, picture=PICTURE) -> Codec:
        for _ in range(round(seconds * 1_000_000 / STEP_US)):
            self.now_us += STEP_US
            wanted = self.ladder.propose(
                self.codec, target_bps=target_bps, picture=picture, now_us=self.now_us
            )
            if wanted is not self.codec:
                self.codec = wanted
                self.switches_us.append(self.now_us)
        return self.codec


@pytest.mark.parametrize(
    ("picture", "low_bps", "high_bps"),
    [((1280, 720), 170_000, 195_000), ((640, 360), 75_000, 100_000), ((352, 288), 52_000, 70_000)],
)
def test_h264_is_held_to_hold_what_was_measured_of_it(picture, low_bps, high_bps):
    assert low_bps < held_by_h264_bps(picture) < high_bps


def test_h264_is_left_where_it_cannot_hold_the_rate_and_av1_is_at_hand():
    using = Using(H264, AV1)
    assert using.run(HIGH_BPS, seconds=60) is H264
    assert using.run(LOW_BPS, seconds=0.9) is H264
    assert using.run(LOW_BPS, seconds=0.5) is AV1


def test_a_larger_picture_may_be_what_h264_cannot_hold():
    using = Using(H264, AV1)
    assert using.run(120_000, seconds=20) is H264
    assert using.run(120_000, seconds=2, picture=(1280, 720)) is AV1


def test_a_short_fall_switches_nothing():
    using = Using(H264, AV1)
    for _ in range(20):
        using.run(HIGH_BPS, seconds=1)
        using.run(LOW_BPS, seconds=0.8)
    assert not using.switches_us


@pytest.mark.parametrize("codecs", [(H264,), (AV1,)])
def test_a_codec_that_is_alone_stays(codecs):
    using = Using(*codecs)
    for target_bps in (LOW_BPS, HIGH_BPS):
        assert using.run(target_bps, seconds=60) is codecs[0]


def test_an_application_that_prefers_av1_never_gets_h264_for_the_rate():
    using = Using(AV1, H264, codec=H264)
    assert using.run(LOW_BPS, seconds=5) is AV1
    assert using.run(HIGH_BPS, seconds=600) is AV1


def test_the_preferred_h264_comes_back_when_the_rate_has_long_been_enough():
    using = Using(H264, AV1)
    using.run(LOW_BPS, seconds=2)
    assert using.run(round(HELD_BPS * (BACK_RATIO - 0.1)), seconds=120) is AV1
    assert using.run(HIGH_BPS, seconds=9) is AV1
    assert using.run(HIGH_BPS, seconds=2) is H264


def test_returns_that_fail_are_tried_ever_more_seldom():
    using = Using(H264, AV1)
    for _ in range(60):
        using.run(LOW_BPS, seconds=5)
        using.run(HIGH_BPS, seconds=25)
    used_us = [b - a for a, b in itertools.pairwise(using.switches_us[::2])]
    assert all(b >= a for a, b in itertools.pairwise(used_us))
    assert used_us[-1] >= 8 * HOLD_US
    assert len(using.switches_us) <= 14


def test_a_return_that_lasted_makes_the_next_one_as_easy_as_the_first():
    using = Using(H264, AV1)
    for _ in range(3):
        using.run(LOW_BPS, seconds=5)
        assert using.run(HIGH_BPS, seconds=60) is H264
        using.run(HIGH_BPS, seconds=60)


@given(st.lists(st.tuples(st.integers(10_000, 400_000), st.floats(0.1, 40)), max_size=30))
@settings(max_examples=60, deadline=None)
def test_av1_is_kept_at_least_as_long_as_its_hold(steps):
    using = Using(H264, AV1)
    for target_bps, seconds in steps:
        using.run(target_bps, seconds=seconds)
    left, returned = using.switches_us[::2], using.switches_us[1::2]
    assert all(back - away >= HOLD_US for away, back in zip(left, returned, strict=False))
