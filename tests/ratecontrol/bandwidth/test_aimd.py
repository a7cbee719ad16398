from __future__ import annotations

import pytest

from codecpilot.ratecontrol.bandwidth.aimd import AimdRateControl, AimdSettings, LinkCapacity
from codecpilot.ratecontrol.bandwidth.trendline import Usage

SECOND_US = 1_000_000


def control(start_bps: int = 300_000) -> AimdRateControl:
    return AimdRateControl(start_bps=start_bps, min_bps=10_000)


def rise(aimd: AimdRateControl, *, acknowledged_bps: int, from_us: int, seconds: int) -> int:
    for now_us in range(from_us, from_us + seconds * SECOND_US + 1, 50_000):
        aimd.update(Usage.NORMAL, acknowledged_bps=acknowledged_bps, now_us=now_us)
    return aimd.rate_bps


def test_far_from_the_capacity_the_rate_rises_by_eight_percent_a_second() -> None:
    rate_bps = rise(control(), acknowledged_bps=1_000_000, from_us=0, seconds=5)
    assert rate_bps == pytest.approx(300_000 * 1.08**5, rel=0.005)


def test_near_the_capacity_it_rises_by_half_a_packet_a_response_time() -> None:
    aimd = control(1_000_000)
    aimd.set_rtt(50_000)
    aimd.update(Usage.OVERUSE, acknowledged_bps=1_000_000, now_us=0)
    assert aimd.rate_bps == 850_000
    rate_bps = rise(aimd, acknowledged_bps=860_000, from_us=300_000, seconds=1)
    # Frames of 3,542 bytes go in three packets, later in four of 900: one each 300 ms.
    assert 900 * 8 / 0.3 < rate_bps - 850_000 < 3_542 / 3 * 8 / 0.3


def test_it_never_rises_above_what_was_acknowledged_by_more_than_half_and_10_kbps() -> None:
    rate_bps = rise(control(), acknowledged_bps=220_000, from_us=0, seconds=60)
    assert rate_bps == 340_000


def test_a_low_acknowledged_rate_alone_lowers_nothing() -> None:
    assert rise(control(), acknowledged_bps=20_000, from_us=0, seconds=10) == 300_000


def test_without_acknowledged_rate_it_never_rises_and_halves_under_overuse() -> None:
    aimd = control()
    for now_us in range(0, 10 * SECOND_US, 50_000):
        aimd.update(Usage.NORMAL, acknowledged_bps=None, now_us=now_us)
    assert aimd.rate_bps == 300_000
    aimd.update(Usage.OVERUSE, acknowledged_bps=None, now_us=10 * SECOND_US)
    assert aimd.rate_bps == 150_000


def test_overuse_takes_it_to_85_percent_of_what_arrives_but_never_up() -> None:
    aimd = control(500_000)
    aimd.update(Usage.OVERUSE, acknowledged_bps=400_000, now_us=0)
    assert aimd.rate_bps == 340_000
    aimd.update(Usage.OVERUSE, acknowledged_bps=600_000, now_us=SECOND_US)
    assert aimd.rate_bps <= 340_000


def test_underuse_holds() -> None:
    aimd = control()
    for now_us in range(0, 5 * SECOND_US, 50_000):
        aimd.update(Usage.UNDERUSE, acknowledged_bps=900_000, now_us=now_us)
    assert aimd.rate_bps == 300_000


def test_another_step_down_waits_a_round_trip_unless_less_than_half_arrives() -> None:
    aimd = control(500_000)
    aimd.set_rtt(100_000)
    aimd.update(Usage.OVERUSE, acknowledged_bps=500_000, now_us=0)
    assert not aimd.may_reduce(400_000, now_us=99_999)
    assert aimd.may_reduce(400_000, now_us=100_000)
    assert aimd.may_reduce(200_000, now_us=1)
    assert not aimd.may_reduce(None, now_us=1)


def test_the_rate_stays_above_its_least() -> None:
    aimd = control(12_000)
    aimd.update(Usage.OVERUSE, acknowledged_bps=1_000, now_us=0)
    assert aimd.rate_bps == 10_000
    aimd.set_rate(3, now_us=0)
    assert aimd.rate_bps == 10_000


def test_the_capacity_is_remembered_until_more_or_less_arrives_than_it_explains() -> None:
    memory = LinkCapacity(AimdSettings())
    assert memory.bps is None
    assert not memory.excludes_above(10_000_000)
    for acknowledged_bps in (1_000_000, 980_000, 1_010_000, 1_000_000):
        memory.handle_overuse(acknowledged_bps)
    assert memory.bps is not None
    assert 990_000 < memory.bps < 1_010_000
    assert not memory.excludes_above(1_040_000)
    assert memory.excludes_above(1_200_000)
    assert not memory.excludes_below(960_000)
    assert memory.excludes_below(800_000)
    memory.forget()
    assert memory.bps is None
    assert not memory.excludes_below(1)


def test_more_arriving_than_the_memory_explains_makes_it_rise_quickly_again() -> None:
    aimd = control(1_000_000)
    aimd.update(Usage.OVERUSE, acknowledged_bps=1_000_000, now_us=0)
    assert aimd.capacity_bps == 1_000_000
    rate_bps = rise(aimd, acknowledged_bps=2_000_000, from_us=SECOND_US, seconds=2)
    assert aimd.capacity_bps is None
    assert rate_bps == pytest.approx(850_000 * 1.08**2, rel=0.01)
