"""The same call on the same link, once with each estimator."""

from __future__ import annotations

import pytest

from codecpilot.ratecontrol.bandwidth.codesign import CodesignEstimator
from codecpilot.ratecontrol.bandwidth.gcc import GccEstimator
from codecpilot.ratecontrol.bandwidth.messages import BandwidthEstimator
from codecpilot.rtc.simulation.rate import StepRate

from .caller import Caller, Seen
from .links_drawn import falling, walking
from .network import Network, rate_steps

SECONDS = 40


def run(estimator: BandwidthEstimator, rate: StepRate, *, queue_us: int = 600_000) -> Seen:
    network = Network(rate, queue_us=queue_us)
    caller = Caller(network, estimator)
    network.run(SECONDS)
    return caller.seen


@pytest.mark.parametrize("seed", range(4))
def test_on_a_link_that_falls_the_queue_is_half_as_long_at_no_less_rate(seed: int) -> None:
    rate = falling(seed, seconds=SECONDS)
    ours, gcc = run(CodesignEstimator(), rate), run(GccEstimator(), rate)
    assert 0.98 * gcc.arrived_bps(0, SECONDS) <= ours.arrived_bps(0, SECONDS)
    assert 1_000 < ours.wait_us(0, SECONDS) <= 0.5 * gcc.wait_us(0, SECONDS)


@pytest.mark.parametrize("seed", range(3))
def test_on_a_link_that_wanders_more_is_used_and_the_queue_stays_short(seed: int) -> None:
    rate = walking(seed, seconds=SECONDS)
    ours, gcc = run(CodesignEstimator(), rate), run(GccEstimator(), rate)
    assert 1.05 * gcc.arrived_bps(0, SECONDS) <= ours.arrived_bps(0, SECONDS)
    assert 1_000 < ours.wait_us(5, SECONDS) < 90_000


def test_after_a_drop_the_queue_drains_sooner_and_less_is_lost_to_it() -> None:
    rate = rate_steps((0, 600), (10, 150), (20, 600))
    ours, gcc = (
        run(estimator, rate, queue_us=300_000)
        for estimator in (CodesignEstimator(), GccEstimator())
    )
    assert 0.02 < long_s(ours) <= 0.5 * long_s(gcc)
    assert ours.full_ratio(10, 20) <= 0.5 * gcc.full_ratio(10, 20)
    assert ours.arrived_bps(20, 30) >= 1.5 * gcc.arrived_bps(20, 30)


def long_s(seen: Seen) -> float:
    """For how long after the drop a packet would have waited for more than 100 ms."""
    samples = seen.between(10, 20)
    return 10 * sum(sample.wait_us > 100_000 for sample in samples) / len(samples)
