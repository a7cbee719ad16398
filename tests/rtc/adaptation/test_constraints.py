"""Battery, pressure and the rate as constraints on operations."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.battery import Battery
from codecpilot.rtc.adaptation.codec_ladder import held_by_h264_bps
from codecpilot.rtc.adaptation.codec_rate import CodecRate
from codecpilot.rtc.adaptation.cpu_pressure import LOOKS_OFF, LOOKS_ON, CpuPressure
from codecpilot.rtc.adaptation.health import DeviceHealth
from codecpilot.rtc.adaptation.operation import Operation
from codecpilot.rtc.adaptation.situation import Situation, Step

AV1, H264 = Operation(codec=Codec.AV1), Operation(codec=Codec.H264)
BEST = Operation(codec=Codec.AV1, preset="best")
SITUATION = Situation(now_us=0, used=AV1, size=(640, 360), gap_us=33_333, target_bps=400_000)


def health(**values: object) -> DeviceHealth:
    return DeviceHealth(time_us=0, **values)


def refuses(constraint, operation, *, situation=SITUATION, step=Step.KEEP, strictly=True) -> bool:
    return constraint.refuses(operation, situation, step, strictly=strictly) is not None


def test_av1_is_refused_from_the_level_on_until_five_points_above_it():
    battery, refused = Battery(0.2), []
    for left in (0.21, 0.19, 0.21, 0.24, 0.251, 0.21, 0.199):
        battery.handle(health(battery_ratio=left, on_power=False))
        refused.append(refuses(battery, AV1))
    assert refused == [False, True, True, True, False, False, True]
    assert not refuses(battery, H264)
    assert not refuses(battery, AV1, strictly=False)


@pytest.mark.parametrize(
    "told",
    [
        {"battery_ratio": 0.1, "on_power": True},
        {"battery_ratio": None, "on_power": False},
        {"battery_ratio": 0.1, "on_power": False, "has_hardware_av1": True},
    ],
)
def test_power_no_battery_or_an_encoder_in_hardware_leave_av1_alone(told):
    battery = Battery(0.2)
    battery.handle(health(**told))
    assert not refuses(battery, AV1)


def test_a_battery_that_the_application_ignores_is_never_low():
    battery = Battery(None)
    battery.handle(health(battery_ratio=0.01, on_power=False))
    assert not refuses(battery, AV1)


@pytest.mark.parametrize(
    ("high", "low"),
    [
        ({"cpu_pressure_ratio": 0.5}, {"cpu_pressure_ratio": 0.1}),
        ({"cpu_ratio": 0.97}, {"cpu_ratio": 0.5}),
        ({"temperature_c": 95.0}, {"temperature_c": 70.0}),
        ({"frequency_ratio": 0.4, "cpu_ratio": 0.8}, {"frequency_ratio": 0.4, "cpu_ratio": 0.1}),
        ({"cpu_pressure_ratio": 0.5}, {}),
    ],
)
def test_lasting_pressure_takes_what_is_only_for_spare_time(high, low):
    pressure = CpuPressure()
    for _ in range(LOOKS_ON):
        assert not refuses(pressure, BEST)
        pressure.handle(health(**high))
    assert refuses(pressure, BEST)
    assert not refuses(pressure, AV1)
    assert not refuses(pressure, H264)
    for _ in range(LOOKS_OFF):
        assert refuses(pressure, BEST)
        pressure.handle(health(**low))
    assert not refuses(pressure, BEST)


def test_a_burst_of_pressure_is_none():
    pressure = CpuPressure()
    for _ in range(20):
        for _ in range(LOOKS_ON - 1):
            pressure.handle(health(cpu_pressure_ratio=0.9))
        pressure.handle(health(cpu_pressure_ratio=0.1))
        assert not refuses(pressure, BEST)


@pytest.mark.parametrize(
    ("step", "ratio", "refused"),
    [
        (Step.LEAVE, 1.15, True),
        (Step.LEAVE, 1.25, False),
        (Step.IMPROVE, 1.55, True),
        (Step.IMPROVE, 1.65, False),
    ],
)
def test_h264_is_taken_only_with_some_rate_to_spare(step, ratio, refused):
    situation = replace(SITUATION, target_bps=round(ratio * held_by_h264_bps((640, 360))))
    rate = CodecRate((Codec.AV1, Codec.H264))
    assert refuses(rate, H264, situation=situation, step=step) is refused
    half = replace(H264, scale=Fraction(1, 2))
    assert not refuses(rate, half, situation=situation, step=step)
    assert not refuses(rate, AV1, situation=situation, step=step)


def test_h264_in_use_is_left_when_it_does_not_hold_the_rate_and_not_in_a_dip():
    rate = CodecRate((Codec.AV1, Codec.H264))
    low = replace(SITUATION, used=H264, target_bps=held_by_h264_bps((640, 360)) // 2)
    for now_us, refused in ((0, False), (900_000, False), (1_000_000, True)):
        rate.follow(replace(low, now_us=now_us))
        assert refuses(rate, H264, situation=low, strictly=False) is refused
    high = replace(low, target_bps=400_000, now_us=1_100_000)
    rate.follow(high)
    assert not refuses(rate, H264, situation=high)


def test_av1_waits_for_its_turn_where_the_application_named_h264_first():
    rate = CodecRate((Codec.H264, Codec.AV1))
    situation = replace(SITUATION, used=H264)
    rate.follow(situation)
    assert refuses(rate, AV1, situation=situation, step=Step.IMPROVE)
    assert not refuses(rate, AV1, situation=situation, step=Step.LEAVE, strictly=False)
    low = replace(situation, target_bps=held_by_h264_bps((640, 360)) // 2)
    for now_us in (0, 1_000_000):
        rate.follow(replace(low, now_us=now_us))
    assert not refuses(rate, AV1, situation=low, step=Step.LEAVE)
