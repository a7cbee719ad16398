"""Devices in simulated calls do what devices do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from codecpilot.eligibility.fleet.calls import Sides, draw_calls
from codecpilot.eligibility.fleet.costs import AV1_PRESETS, DEFAULT_COSTS
from codecpilot.eligibility.fleet.devices import SimulatedDevice, draw_devices
from codecpilot.eligibility.fleet.physics import SCALES, FleetPhysics, Interval

CALLS = 60


@pytest.fixture(scope="module")
def device() -> SimulatedDevice:
    """A phone of a fifth of the reference's speed that stays cool."""
    drawn = draw_devices(20, rng=np.random.default_rng(0))
    phone = next(each for each in drawn if each.kind.name == "middle")
    return replace(
        phone, speed=0.2, av1_factor=1.0, heat=0.3, sustained_ratio=0.5, background_ratio=0.05
    )


def run(device: SimulatedDevice, **changes) -> list[Interval]:
    """Calls of 640x360 at 30 fps on AV1, ten minutes each, all alike but for chance."""
    rng = np.random.default_rng(1)
    drawn = draw_calls(CALLS, devices=[device], rng=rng)
    size = len(drawn)
    alike: dict[str, object] = {
        "is_av1": np.ones(size, dtype=bool),
        "width": np.full(size, 640),
        "height": np.full(size, 360),
        "fps": np.full(size, 30.0),
        "intervals": np.full(size, 60),
        "on_power": np.ones(size, dtype=bool),
        "battery_ratio": np.ones(size),
        "ambient": np.zeros(size),
        "background_ratio": np.full(size, device.background_ratio),
    }
    alike |= {
        name: np.full(size, value) if np.isscalar(value) else value
        for name, value in changes.items()
    }
    sides: Sides = replace(drawn, **alike)
    physics = FleetPhysics(sides, devices=[device], costs=DEFAULT_COSTS, rng=rng)
    return list(physics.intervals())


def mean(intervals: list[Interval], name: str) -> float:
    return float(np.mean([getattr(each, name).mean() for each in intervals]))


def dropped(intervals: list[Interval]) -> float:
    return mean(intervals, "dropped") / mean(intervals, "captured")


def test_a_fast_device_drops_nothing_and_keeps_its_preset_and_size(device):
    intervals = run(replace(device, speed=1.0))
    assert dropped(intervals) < 0.001
    assert (intervals[-1].preset == AV1_PRESETS.index("default")).mean() > 0.95
    assert (intervals[-1].scale == 1).mean() > 0.98


def test_a_slow_device_steps_to_cheap_presets_then_to_smaller_sizes_then_drops(device):
    presets = [mean(run(replace(device, speed=speed))[5:], "preset") for speed in (1.0, 0.07, 0.03)]
    assert presets[0] > presets[1] >= presets[2]
    slow = run(replace(device, speed=0.02))
    assert slow[-1].is_cpu_limited.mean() > 0.9
    assert (slow[0].scale == 1).all(), "calls begin with what is asked"
    assert (slow[-1].scale == SCALES[-1]).mean() > 0.8
    assert dropped(run(replace(device, speed=0.008))) > 0.3


def test_encode_time_follows_speed(device):
    fast, half = run(replace(device, speed=1.0)), run(replace(device, speed=0.5))
    ratio = mean(half, "encode_p50_us") / mean(fast, "encode_p50_us")
    assert 1.9 < ratio < 2.1


def test_a_hot_device_slows_down_within_minutes_to_what_it_can_sustain(device):
    hot = run(replace(device, heat=3.0, warming_s=120))
    first, last = hot[0].frequency_ratio.mean(), hot[-1].frequency_ratio.mean()
    assert first > 0.98
    assert 0.45 < last < 0.75
    assert mean(run(device), "frequency_ratio") > 0.99


def test_power_saving_slows_a_nearly_empty_phone_that_is_not_plugged_in(device):
    empty = run(device, battery_ratio=0.1, on_power=False, saver_ratio=0.65)
    plugged = run(device, battery_ratio=0.1, on_power=True, saver_ratio=0.65)
    assert empty[0].frequency_ratio.mean() < 0.7 < plugged[0].frequency_ratio.mean()
    assert empty[-1].battery_ratio.mean() < empty[0].battery_ratio.mean()


def test_other_work_takes_its_share_and_makes_times_uneven(device):
    busy, quiet = run(device, background_ratio=0.4), run(device, background_ratio=0.02)
    assert mean(busy, "contention") > 0.25 > mean(quiet, "contention")
    unevenness = [
        mean(runs, "encode_p95_us") / mean(runs, "encode_p50_us") for runs in (busy, quiet)
    ]
    assert unevenness[0] > unevenness[1] > 1.2


def test_what_the_peer_sends_loads_the_decoder_unless_hardware_decodes_it(device):
    is_second = np.arange(2 * CALLS) % 2 == 1
    size = {"width": np.where(is_second, 1280, 640), "height": np.where(is_second, 720, 360)}
    able = replace(device, speed=0.5)
    software = run(able, **size)[3]
    hardware = run(replace(able, decodes_av1=True), **size)[3]
    of_large, of_small = (software.decode_p50_us[side].mean() for side in (~is_second, is_second))
    assert of_large > 3 * of_small
    assert 0.15 < hardware.decode_p50_us.mean() / software.decode_p50_us.mean() < 0.25


def test_freezes_of_the_network_say_nothing_of_the_device(device):
    lossy = run(replace(device, speed=1.0), network_freezes=1.0)
    clear = run(replace(device, speed=1.0), network_freezes=0.0)
    assert 0.9 < mean(lossy, "freezes") < 1.1
    assert mean(clear, "freezes") < 0.05
    assert dropped(lossy) < 0.001
