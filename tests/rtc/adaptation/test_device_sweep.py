"""The bounds on switches and late frames, over devices of every speed, in virtual time and without codecs."""

from __future__ import annotations

import itertools

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationReason
from codecpilot.rtc.adaptation.settings import AdaptationSettings

from tests.rtc.adaptation.virtual_device import MICRO, SIZES, VirtualDevice, random_ratios

# From 0.5 to 8 in steps of 5 %; half of them each for half of the tests.
FACTORS = [round(0.5 * 1.05**step, 4) for step in range(58)]
S = 1_000_000


def settled(device: VirtualDevice) -> None:
    """At most one codec switch a minute after the first 20 s, and no going to and fro."""
    times = [at_s for at_s, _ in device.switches(since_s=20, codec=True)]
    assert all(b - a >= 60 for a, b in itertools.pairwise(times))
    assert len(device.switches(since_s=20)) <= 2


@pytest.mark.parametrize("size", SIZES)
def test_every_constant_device_settles_at_once_and_is_hardly_late(size):
    pixels, target_bps = SIZES[size]
    # Every second one at one size, the others at the other.
    for factor in FACTORS[list(SIZES).index(size) :: 2]:
        device = VirtualDevice(size=pixels, target_bps=target_bps, factor=lambda _, f=factor: f)
        device.run(45)
        assert device.switches(since_s=6) == []
        assert len(device.switches()) <= 2
        assert device.late_s() <= 0.3
        assert device.late_s(since_s=2) == 0


@pytest.mark.parametrize("size", SIZES)
def test_devices_whose_codecs_cost_anything_up_to_twice_or_half_settle_too(size):
    pixels, target_bps = SIZES[size]
    for seed, factor in enumerate(FACTORS[::2]):
        device = VirtualDevice(
            size=pixels,
            target_bps=target_bps,
            factor=lambda _, f=factor: f,
            true_ratios=random_ratios(seed),
        ).run(45)
        settled(device)
        assert device.late_s() <= 1
        assert device.late_s(since_s=20) <= 0.2


@pytest.mark.parametrize("size", SIZES)
def test_noise_of_a_fifth_and_slow_single_frames_unsettle_none(size):
    pixels, target_bps = SIZES[size]
    for seed, factor in enumerate(FACTORS[1::3]):
        device = VirtualDevice(
            size=pixels,
            target_bps=target_bps,
            factor=lambda _, f=factor: f,
            true_ratios=random_ratios(seed),
            noise=0.2,
            spikes=0.005,
            seed=seed,
        ).run(60)
        settled(device)
        assert device.late_s() <= 2.5


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_device_that_slows_down_four_times_recovers_all_its_quality(size, noise):
    pixels, target_bps = SIZES[size]
    for number, factor in enumerate(FACTORS[::8]):
        device = VirtualDevice(
            size=pixels,
            target_bps=target_bps,
            factor=lambda now_us, f=factor: f * (4 if 20 * S <= now_us - MICRO < 60 * S else 1),
            noise=noise,
            seed=number,
        ).run(19.9)
        former = device.used
        device.run(40)
        assert device.late_s(since_s=19) <= 1
        assert len(device.switches(since_s=19)) <= 2
        device.run(15.1)
        assert device.expected_db(device.used) >= device.expected_db(former)
        assert len(device.switches(since_s=59.9)) <= 2
        device.run(15)
        assert device.late_s(since_s=19) <= 1
        assert device.expected_db(device.used) >= device.expected_db(former)


def test_after_one_slow_down_what_fits_is_known_at_once():
    device = VirtualDevice(
        size=(1280, 720),
        target_bps=1_200_000,
        preset="best",
        factor=lambda now_us: 8 if now_us > 10 * S else 0.5,
    ).run(30)
    (at_s, first), *others = device.switches(since_s=8)
    assert 9 < at_s < 9.6
    assert first.codec is Codec.H264
    assert others == []


def test_a_step_up_that_failed_is_not_tried_again_until_the_device_is_faster():
    # What is said to cost 2.4 times as much costs 5 times as much.
    device = VirtualDevice(
        factor=lambda now_us: 4.0 if now_us < 300 * S else 1.0,
        true_ratios={(Codec.AV1, row): 2.2 for row in ("high", "best")},
    ).run(298)
    tried = [operation.preset for _, operation in device.switches()]
    assert tried.count("best") + tried.count("high") <= 2
    assert device.used.preset == "default"
    device.run(20)
    assert device.used.preset == "best"


def test_a_device_that_changes_its_speed_every_few_seconds_is_not_followed_up_each_time():
    device = VirtualDevice(
        size=(1280, 720),
        target_bps=1_200_000,
        factor=lambda now_us: 6.0 if now_us // (6 * S) % 2 else 1.0,
    ).run(300)
    assert 1 <= len(device.switches(codec=True)) <= 60
    assert len(device.switches(since_s=20, codec=True)) / 280 <= 1 / 10
    assert device.late_s() <= 8


@pytest.mark.parametrize("budget", [0.0, 0.2, 0.5])
def test_spare_time_is_used_within_the_budget(budget):
    for factor in FACTORS[::5]:
        device = VirtualDevice(
            factor=lambda _, f=factor: f, settings=AdaptationSettings(cpu_budget_ratio=budget)
        ).run(20)
        rises = [c for _, _, c in device.choices if c.reason is AdaptationReason.SPARE_TIME]
        assert all(choice.value <= budget for choice in rises)
        best_ratio = 19.5 * factor * 0.2304 / 33.3
        assert ("best" in {choice.operation.preset for choice in rises}) is (
            1.22 * best_ratio <= budget
        )
