"""Calls that share a link with each other, and with a flow that fills its queue."""

from __future__ import annotations

from random import Random

import pytest

from codecpilot.ratecontrol.bandwidth.codesign import CodesignEstimator
from codecpilot.rtc.simulation.aimd_flow import AimdFlow

from .caller import Caller, Seen
from .network import SECOND_US, Network, rate_steps


def shared(count: int, *, kbps: int, seed: int, seconds: float) -> list[Seen]:
    """Calls that begin within five seconds, each with its own pace of feedback."""
    random, network = Random(seed), Network(rate_steps((0, kbps)), seed=seed)
    callers = [
        Caller(
            network,
            CodesignEstimator(),
            start_s=random.uniform(0, 5),
            feedback_us=random.randint(30_000, 90_000),
            seed=random.randint(0, 999),
        )
        for _ in range(count)
    ]
    network.run(seconds)
    return [caller.seen for caller in callers]


def jain(rates: list[float]) -> float:
    """Jain's index: 1 for equal shares, 1/n where one has all."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def against_a_flow(
    *, kbps: int, queue_us: int, flow_s: float, seconds: float
) -> tuple[float, float]:
    """Our share and that of a flow, of the last 25 seconds."""
    network = Network(rate_steps((0, kbps)), queue_us=queue_us)
    caller = Caller(network, CodesignEstimator())
    network.at(round(flow_s * SECOND_US), lambda: network.compete(AimdFlow()))
    network.run(seconds - 25)
    before_bytes = network.cross_bytes
    network.run(seconds)
    ours = caller.seen.arrived_bps(seconds - 25, seconds) / (kbps * 1_000)
    return ours, 8 * (network.cross_bytes - before_bytes) / (25_000 * kbps)


@pytest.mark.parametrize("kbps", [1_000, 3_000])
def test_two_calls_share_fairly_with_a_short_queue(kbps: int) -> None:
    indices = []
    for seed in range(5):
        calls = shared(2, kbps=kbps, seed=seed, seconds=35)
        rates = [seen.arrived_bps(20, 35) for seen in calls]
        assert 0.93 < sum(rates) / (kbps * 1_000) < 1.01, seed
        assert max(seen.wait_us(20, 35) for seen in calls) < 80_000, seed
        assert all(seen.full_ratio(20, 35) == 0 for seen in calls), seed
        indices.append(jain(rates))
    assert sorted(indices)[len(indices) // 2] >= 0.95
    assert min(indices) > 0.8


def test_three_calls_share_with_a_short_queue() -> None:
    indices = []
    for seed in range(5):
        calls = shared(3, kbps=1_500, seed=seed, seconds=35)
        rates = [seen.arrived_bps(20, 35) for seen in calls]
        assert 0.93 < sum(rates) / 1_500_000 < 1.01, seed
        assert max(seen.wait_us(20, 35) for seen in calls) < 90_000, seed
        indices.append(jain(rates))
    assert sorted(indices)[len(indices) // 2] >= 0.9
    assert min(indices) > 0.75


def test_a_call_that_joins_is_given_room() -> None:
    network = Network(rate_steps((0, 1_000)))
    first = Caller(network, CodesignEstimator(), seed=1)
    second = Caller(network, CodesignEstimator(), start_s=10, feedback_us=60_000, seed=2)
    network.run(25)
    assert 0.93 < first.seen.arrived_bps(5, 10) / 1_000_000 < 1.01
    assert 250_000 < second.seen.arrived_bps(18, 25) < 750_000
    assert second.seen.wait_us(10, 25) < 80_000


@pytest.mark.parametrize(("queue_us", "flow_s"), [(150_000, 8), (300_000, 0), (300_000, 8)])
def test_against_a_flow_a_share_is_kept_and_left(queue_us: int, flow_s: float) -> None:
    ours, theirs = against_a_flow(kbps=1_000, queue_us=queue_us, flow_s=flow_s, seconds=45)
    assert 0.3 <= ours <= 0.75
    assert 0.25 <= theirs <= 0.7


def test_when_the_flow_ends_the_queue_is_short_again() -> None:
    network = Network(rate_steps((0, 1_000)))
    caller = Caller(network, CodesignEstimator())
    flow = AimdFlow()
    network.at(5 * SECOND_US, lambda: network.compete(flow))
    network.run(30)
    assert caller.seen.wait_us(20, 30) > 150_000
    network.stop(flow)
    network.run(42)
    assert caller.seen.wait_us(33, 42) < 60_000
    assert 0.92 < caller.seen.arrived_bps(36, 42) / 1_000_000 < 1.01
