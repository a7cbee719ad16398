"""The rate of what flows, and of what flowed."""

from __future__ import annotations

import itertools

import pytest

from codecpilot.ratecontrol.rate_meter import TIME_CONSTANT_US, RateMeter


def test_a_steady_flow_is_told_from_its_start_if_it_was_guessed_and_soon_if_not():
    guessed, blank = RateMeter(start_bps=400_000), RateMeter()
    for now_us in range(0, 5_000_000, 20_000):
        for meter in (guessed, blank):
            meter.add(8_000, now_us=now_us)
        assert guessed.bps(now_us=now_us) == pytest.approx(400_000, rel=0.03)
        if now_us >= 3 * TIME_CONSTANT_US:
            assert blank.bps(now_us=now_us) == pytest.approx(400_000, rel=0.06)


def test_a_burst_counts_at_once_and_fades_without_a_step():
    meter = RateMeter()
    meter.add(80_000, now_us=0)
    rates = [meter.bps(now_us=t) for t in range(0, 3_000_000, 10_000)]
    assert rates[0] == 80_000
    assert rates[TIME_CONSTANT_US // 10_000] == pytest.approx(80_000 / 2.718, rel=0.001)
    assert all(0 <= a - b <= 801 for a, b in itertools.pairwise(rates))


def test_time_that_runs_backwards_changes_nothing():
    meter = RateMeter()
    meter.add(80_000, now_us=1_000_000)
    assert meter.bps(now_us=0) == 80_000
    assert meter.bps(now_us=1_000_000) == 80_000
