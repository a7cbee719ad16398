from __future__ import annotations

import pytest

from codecpilot.ratecontrol.bandwidth.arrival_groups import GroupDelta
from codecpilot.ratecontrol.bandwidth.trendline import Trendline, TrendlineSettings, Usage


def feed(trendline: Trendline, growths_us: list[int], *, start: int = 0) -> list[Usage]:
    """Groups every 20 ms, each so much longer under way than the one before."""
    usages = []
    arrival_us = start * 20_000
    for growth_us in growths_us:
        arrival_us += 20_000 + growth_us
        usages.append(
            trendline.handle_group(
                GroupDelta(
                    send_delta_us=20_000, arrival_delta_us=20_000 + growth_us, arrival_us=arrival_us
                )
            )
        )
    return usages


def test_a_steady_delay_is_normal() -> None:
    assert set(feed(Trendline(), [0] * 200)) == {Usage.NORMAL}


def test_the_slope_is_the_growth_of_the_delay() -> None:
    trendline = Trendline()
    feed(trendline, [500] * 200)
    assert 0.5 / 20.5 * 0.99 < trendline.slope < 0.5 / 20.5 * 1.01


def test_a_queue_that_grows_is_overuse_within_fifteen_groups() -> None:
    trendline = Trendline()
    feed(trendline, [0] * 60)
    usages = feed(trendline, [2_000] * 30, start=60)
    first = usages.index(Usage.OVERUSE)
    assert 2 <= first <= 15


def test_one_late_group_is_no_overuse() -> None:
    trendline = Trendline()
    feed(trendline, [0] * 60)
    usages = feed(trendline, [5_000, -5_000] + [0] * 30, start=60)
    assert Usage.OVERUSE not in usages


def test_a_queue_that_drains_is_underuse_then_normal() -> None:
    trendline = Trendline()
    feed(trendline, [0] * 60 + [2_000] * 30)
    usages = feed(trendline, [-3_000] * 20 + [0] * 60, start=90)
    assert Usage.UNDERUSE in usages
    assert usages[-1] is Usage.NORMAL


def test_jitter_raises_the_threshold_and_calm_lowers_it() -> None:
    trendline = Trendline()
    feed(trendline, [0] * 60)
    calm_ms = trendline.threshold_ms
    # A wave of 1.5 s: the delay rises and falls by some 30 ms.
    wave = ([900] * 37 + [-900] * 37) * 8
    feed(trendline, wave, start=60)
    assert 6.0 <= calm_ms < 12.5
    assert calm_ms + 2 < trendline.threshold_ms < 600
    feed(trendline, [0] * 400, start=60 + len(wave))
    assert trendline.threshold_ms == pytest.approx(6.0)


def test_the_threshold_falls_faster_than_it_rises() -> None:
    trendline = Trendline()
    # 20 ms at 0.039 a millisecond take three quarters of it off at once.
    feed(trendline, [0] * 3)
    assert trendline.threshold_ms == pytest.approx(6.0)


def test_over_the_threshold_a_slope_that_falls_is_no_overuse() -> None:
    trendline = Trendline(TrendlineSettings(window=4, smoothing=0.0))
    feed(trendline, [0] * 60)
    # Over four groups the slope is 0.22, then 0.07, both far above the threshold of 0.025.
    assert feed(trendline, [15_000, -15_000], start=60) == [Usage.NORMAL, Usage.NORMAL]
    feed(trendline, [0] * 60, start=62)
    assert feed(trendline, [15_000, 15_000], start=122)[-1] is Usage.OVERUSE


def test_a_clock_drift_of_200_ppm_is_normal() -> None:
    assert set(feed(Trendline(), [4] * 3_000)) == {Usage.NORMAL}


def test_groups_of_one_arrival_time_leave_the_slope_alone() -> None:
    trendline = Trendline()
    for _ in range(40):
        trendline.handle_group(
            GroupDelta(send_delta_us=10_000, arrival_delta_us=0, arrival_us=1_000)
        )
    assert trendline.slope == 0.0


def test_reset_forgets() -> None:
    trendline = Trendline()
    feed(trendline, [0] * 60 + [2_000] * 30)
    assert trendline.usage is Usage.OVERUSE
    trendline.reset()
    assert trendline.usage is Usage.NORMAL
    assert trendline.slope == 0.0
    assert trendline.threshold_ms == 12.5
