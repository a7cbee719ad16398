from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.operation import Operation
from codecpilot.rtc.adaptation.quality import expected_db
from codecpilot.rtc.adaptation.situation import Situation

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
AV1, H264 = Operation(codec=Codec.AV1), Operation(codec=Codec.H264)
HALF_AV1 = Operation(codec=Codec.AV1, preset="ultralow", scale=HALF)
HALF_H264 = Operation(codec=Codec.H264, scale=HALF)
FEWER = Operation(codec=Codec.AV1, every=2)
ALL = (AV1, H264, HALF_AV1, HALF_H264, FEWER, Operation(codec=Codec.H264, scale=QUARTER))


def situation(kbps: int, *, size=(640, 360), rate_every: int = 1) -> Situation:
    return Situation(
        now_us=0,
        used=AV1,
        size=size,
        gap_us=33_333,
        target_bps=kbps * 1000,
        rate_every=rate_every,
    )


@pytest.mark.parametrize(("kbps", "db"), [(50, 36.1), (100, 38.8), (800, 45.5)])
def test_what_was_measured_is_what_is_expected(kbps, db):
    assert expected_db(AV1, situation(kbps)) == pytest.approx(db, abs=0.02)


@pytest.mark.parametrize("operation", ALL)
def test_more_rate_never_looks_worse(operation):
    rates = (10, 20, 50, 70, 100, 150, 200, 400, 800, 1600, 5000)
    expected = [expected_db(operation, situation(kbps)) for kbps in rates]
    assert all(a < b for a, b in itertools.pairwise(expected))


@pytest.mark.parametrize("kbps", [30, 50, 100, 300, 800, 3000])
def test_presets_rank_as_their_bd_rates_do(kbps):
    rows = ("low", "default", "high", "best")
    expected = [
        expected_db(Operation(codec=Codec.AV1, preset=row), situation(kbps)) for row in rows
    ]
    assert all(a < b for a, b in itertools.pairwise(expected))


def test_a_smaller_size_has_a_ceiling_and_h264_needs_rate():
    low, high = situation(70), situation(500)
    assert expected_db(HALF_AV1, low) > expected_db(H264, low)
    assert expected_db(HALF_AV1, high) < expected_db(H264, high) < expected_db(AV1, high)
    assert expected_db(HALF_H264, low) > expected_db(H264, low)
    assert expected_db(HALF_H264, high) < expected_db(H264, high)


def test_the_same_bits_a_pixel_look_the_same_at_any_size():
    small, large = situation(100), situation(400, size=(1280, 720))
    assert expected_db(AV1, large) == pytest.approx(expected_db(AV1, small))


def test_what_the_rate_leaves_out_anyway_costs_nothing_more():
    slow = situation(60, rate_every=2)
    assert expected_db(FEWER, slow) == pytest.approx(expected_db(AV1, slow))
    assert expected_db(FEWER, situation(60)) < expected_db(AV1, situation(60))


def test_any_rate_and_pace_has_an_answer():
    for kbps, every in itertools.product((1, 100_000), (1, 2, 3, 9)):
        for operation in ALL:
            assert -60 < expected_db(operation, situation(kbps, rate_every=every)) < 80
