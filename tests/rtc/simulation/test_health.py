"""What a simulated device tells of itself."""

from __future__ import annotations

import pytest

from codecpilot.rtc.simulation.health import HealthMeter
from codecpilot.rtc.simulation.steps import parse_steps


def test_two_cores_are_half_busy_where_one_codec_works_all_the_time():
    meter = HealthMeter(None)
    for index in range(30):
        meter.works(index * 50_000, 50_000)
    assert meter.health(now_us=1_500_000, local_us=0).cpu_ratio == pytest.approx(0.5)
    assert meter.health(now_us=2_000_000, local_us=0).cpu_ratio == pytest.approx(0.25)
    assert meter.health(now_us=9_000_000, local_us=0).cpu_ratio == 0


def test_work_that_is_still_under_way_counts_up_to_now():
    meter = HealthMeter(None)
    meter.works(900_000, 10_000_000)
    assert meter.health(now_us=1_000_000, local_us=0).cpu_ratio == pytest.approx(0.05)


def test_the_battery_falls_as_told_and_the_time_is_the_peers_own():
    meter = HealthMeter(parse_steps("0:30,20:19", name="battery", low=0, high=100))
    full = meter.health(now_us=0, local_us=7)
    assert (full.time_us, full.battery_ratio, full.on_power) == (7, 0.3, False)
    assert meter.health(now_us=20_000_000, local_us=0).battery_ratio == 0.19


def test_without_a_battery_it_is_on_power():
    health = HealthMeter(None).health(now_us=0, local_us=0)
    assert (health.battery_ratio, health.on_power) == (None, True)
