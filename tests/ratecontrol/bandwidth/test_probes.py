from __future__ import annotations

import pytest

from codecpilot.ratecontrol.bandwidth.messages import ProbeCluster
from codecpilot.ratecontrol.bandwidth.probes import ProbeController, ProbeSettings

SECOND_US = 1_000_000


def drain(probes: ProbeController, *, now_us: int) -> list[int]:
    rates = []
    while (cluster := probes.poll(now_us=now_us)) is not None:
        rates.append(cluster.rate_bps)
    return rates


def settled(*, estimate_bps: int = 500_000, demand_bps: int = 2_000_000) -> ProbeController:
    """A controller whose start-up probes brought it to this estimate, at 2 s."""
    probes = ProbeController(estimate_bps=300_000)
    probes.set_demand(demand_bps, now_us=0)
    drain(probes, now_us=0)
    probes.set_estimate(estimate_bps, now_us=100_000)
    probes.set_estimate(estimate_bps, now_us=2 * SECOND_US)
    return probes


def test_nothing_is_probed_before_the_sources_want_anything() -> None:
    probes = ProbeController(estimate_bps=300_000)
    assert probes.poll_timeout() is None
    assert drain(probes, now_us=SECOND_US) == []
    probes.set_demand(0, now_us=SECOND_US)
    assert drain(probes, now_us=SECOND_US) == []


def test_a_call_starts_with_three_and_six_times_the_start_rate() -> None:
    probes = ProbeController(estimate_bps=300_000)
    probes.set_demand(2_000_000, now_us=7)
    assert probes.poll_timeout() == 7
    first = probes.poll(now_us=7)
    assert first == ProbeCluster(probe_id=1, rate_bps=900_000, min_packets=5, min_bytes=1_687)
    assert drain(probes, now_us=8) == [1_800_000]
    assert probes.poll_timeout() is None


def test_while_seven_tenths_arrive_twice_the_estimate_is_next() -> None:
    probes = ProbeController(estimate_bps=300_000)
    probes.set_demand(2_500_000, now_us=0)
    drain(probes, now_us=0)
    probes.set_estimate(1_260_000, now_us=200_000)
    assert drain(probes, now_us=200_000) == []
    probes.set_estimate(1_300_000, now_us=210_000)
    assert drain(probes, now_us=210_000) == [2_600_000]
    probes.set_estimate(2_000_000, now_us=400_000)
    assert drain(probes, now_us=400_000) == [4_000_000]


def test_a_result_that_comes_too_late_asks_for_no_more() -> None:
    probes = ProbeController(estimate_bps=300_000)
    probes.set_demand(2_500_000, now_us=0)
    drain(probes, now_us=0)
    probes.set_estimate(1_700_000, now_us=SECOND_US + 1)
    assert drain(probes, now_us=SECOND_US + 1) == []


def test_no_probe_is_above_twice_the_demand_and_the_last_one_there_ends_probing() -> None:
    probes = ProbeController(estimate_bps=300_000)
    probes.set_demand(400_000, now_us=0)
    assert drain(probes, now_us=0) == [800_000]
    probes.set_estimate(800_000, now_us=100_000)
    assert drain(probes, now_us=100_000) == []


def test_an_estimate_above_twice_the_demand_is_not_probed() -> None:
    probes = ProbeController(estimate_bps=300_000)
    probes.set_demand(100_000, now_us=0)
    assert drain(probes, now_us=0) == []


def test_in_an_application_limited_region_it_probes_every_five_seconds() -> None:
    probes = settled()
    probes.set_alr(3 * SECOND_US, now_us=3 * SECOND_US)
    assert probes.poll_timeout() == 8 * SECOND_US
    assert drain(probes, now_us=8 * SECOND_US - 1) == []
    assert drain(probes, now_us=8 * SECOND_US) == [1_000_000]
    assert probes.poll_timeout() == 13 * SECOND_US
    assert drain(probes, now_us=13 * SECOND_US) == [1_000_000]
    probes.set_alr(None, now_us=14 * SECOND_US)
    assert probes.poll_timeout() is None


def test_periodic_probes_end_where_the_sources_need_no_more() -> None:
    probes = settled(estimate_bps=900_000, demand_bps=450_000)
    probes.set_alr(3 * SECOND_US, now_us=3 * SECOND_US)
    assert probes.poll_timeout() is None
    assert drain(probes, now_us=60 * SECOND_US) == []


def test_a_higher_demand_in_an_application_limited_region_is_probed_at_once() -> None:
    probes = settled(estimate_bps=500_000, demand_bps=300_000)
    probes.set_alr(3 * SECOND_US, now_us=3 * SECOND_US)
    probes.set_demand(900_000, now_us=4 * SECOND_US)
    assert drain(probes, now_us=4 * SECOND_US) == [900_000, 1_800_000]


@pytest.mark.parametrize(("near_alr", "expected"), [(True, [680_000]), (False, [])])
def test_after_a_large_drop_near_such_a_region_it_probes_what_was_before(
    near_alr: bool, expected: list[int]
) -> None:
    probes = settled(estimate_bps=800_000)
    if near_alr:
        probes.set_alr(20 * SECOND_US, now_us=20 * SECOND_US)
        probes.set_alr(None, now_us=21 * SECOND_US)
    probes.set_estimate(300_000, now_us=22 * SECOND_US)
    probes.handle_recovery(now_us=23 * SECOND_US)
    assert drain(probes, now_us=23 * SECOND_US) == expected


def test_such_a_probe_can_be_had_without_the_region_and_once_in_five_seconds() -> None:
    probes = ProbeController(ProbeSettings(drop_needs_alr=False), estimate_bps=300_000)
    probes.set_demand(2_000_000, now_us=0)
    drain(probes, now_us=0)
    probes.set_estimate(800_000, now_us=10 * SECOND_US)
    probes.set_estimate(300_000, now_us=22 * SECOND_US)
    probes.handle_recovery(now_us=23 * SECOND_US)
    assert drain(probes, now_us=23 * SECOND_US) == [680_000]
    probes.handle_recovery(now_us=25 * SECOND_US)
    assert drain(probes, now_us=25 * SECOND_US) == []


def test_a_small_drop_is_not_probed() -> None:
    probes = settled(estimate_bps=800_000)
    probes.set_alr(20 * SECOND_US, now_us=20 * SECOND_US)
    probes.set_estimate(600_000, now_us=22 * SECOND_US)
    probes.handle_recovery(now_us=23 * SECOND_US)
    assert drain(probes, now_us=23 * SECOND_US) == []


def test_a_probe_asked_for_waits_for_none_under_way() -> None:
    probes = settled()
    probes.request(700_000, now_us=3 * SECOND_US)
    probes.request(900_000, now_us=3 * SECOND_US)
    assert drain(probes, now_us=3 * SECOND_US) == [700_000]
    probes.request(900_000, now_us=3 * SECOND_US + 1)
    assert drain(probes, now_us=3 * SECOND_US + 1) == []
    probes.request(900_000, now_us=5 * SECOND_US)
    assert drain(probes, now_us=5 * SECOND_US) == [900_000]
