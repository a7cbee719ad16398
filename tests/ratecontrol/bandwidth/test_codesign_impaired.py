"""Loss, silence, clocks and paths that change."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from codecpilot.ratecontrol.bandwidth.codesign import CodesignEstimator
from codecpilot.ratecontrol.bandwidth.messages import Feedback, PacketResult, SentPacket

from .caller import Caller
from .network import SECOND_US, Network, rate_steps

MBPS = 1_000_000


def on(
    *steps: tuple[float, float], loss_ratio: float = 0.0, jitter_us: int = 0, seed: int = 1
) -> tuple[Network, Caller]:
    network = Network(rate_steps(*steps), loss_ratio=loss_ratio, jitter_us=jitter_us, seed=seed)
    return network, Caller(network, CodesignEstimator(), seed=seed)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kbps", [300, 1_000])
def test_a_tenth_lost_at_random_leaves_the_rate(kbps: int, seed: int) -> None:
    network, caller = on((0, kbps), loss_ratio=0.1, seed=seed)
    network.run(30)
    assert 0.7 < caller.seen.mean_target(5, 30) / (kbps * 1_000) < 1.05
    # A tenth of what is sent does not arrive.
    assert 0.8 < caller.seen.arrived_bps(5, 30) / (0.9 * kbps * 1_000) < 1.02
    assert caller.seen.wait_us(5, 30) < 60_000


def test_loss_that_the_rate_causes_lowers_it() -> None:
    """A bottleneck without queue: what is too much is lost, and no delay tells."""
    network = Network(rate_steps((0, 2_000), (10, 500)), queue_us=12_000)
    caller = Caller(network, CodesignEstimator())
    network.run(30)
    assert 0.7 < caller.seen.arrived_bps(15, 30) / 500_000 < 1.01
    assert caller.seen.full_ratio(15, 30) < 0.2


def test_a_policer_that_no_delay_tells_of_is_kept_to() -> None:
    """From 5 s on what is beyond 400 kbps on average is dropped; packets of 250 bytes, evenly spaced."""
    estimator, random = CodesignEstimator(), Random(3)
    estimator.set_demand(1_000_000, now_us=0)
    tokens_bytes, now_us, number = 5_000.0, 0, 0
    waiting: list[PacketResult] = []
    told: list[tuple[int, int, bool]] = []
    while now_us < 13 * SECOND_US:
        gap_us = 250 * 8 * SECOND_US // max(estimator.target_bps, 50_000)
        now_us, number = now_us + gap_us, number + 1
        allowed_bps = 400_000 if now_us > 5 * SECOND_US else 3_000_000
        tokens_bytes = min(5_000, tokens_bytes + allowed_bps * gap_us / (8 * SECOND_US))
        packet = SentPacket(number=number, sent_us=now_us, size_bytes=250)
        estimator.handle_sent(packet)
        is_lost = tokens_bytes < 250
        tokens_bytes -= 0 if is_lost else 250
        arrival_us = None if is_lost else now_us + 25_000 + random.randint(0, 200)
        waiting.append(PacketResult(packet=packet, arrival_us=arrival_us))
        if number % 10 == 0:
            ready = tuple(r for r in waiting if r.packet.sent_us < now_us - 40_000)
            waiting = waiting[len(ready) :]
            estimator.handle_feedback(Feedback(now_us=now_us, results=ready))
        told.append((now_us, estimator.target_bps, is_lost))
    before = [bps for at_us, bps, _ in told if 4 < at_us / SECOND_US < 5]
    after = [(bps, is_lost) for at_us, bps, is_lost in told if at_us > 8 * SECOND_US]
    assert min(before) > 600_000
    assert 0.6 < sum(bps for bps, _ in after) / len(after) / 400_000 < 1.3
    assert sum(is_lost for _, is_lost in after) / len(after) < 0.2


@pytest.mark.parametrize("seconds", [0.5, 2, 5])
def test_after_an_outage_the_rate_is_back_within_seconds(seconds: float) -> None:
    end_s = 10 + seconds
    network, caller = on((0, 1_000), (10, 0), (end_s, 1_000))
    network.run(end_s + 8)
    seen = caller.seen
    # Signs of life, and no more.
    assert 1 <= len(seen.sent_between(10.2, end_s)) < 15 * seconds + 5
    assert 0.9 * MBPS < seen.arrived_bps(end_s + 4, end_s + 8) < 1.01 * MBPS
    assert seen.longest_wait_us(end_s + 0.1, end_s + 8) < 120_000
    assert seen.frozen_s(end_s + 0.6, end_s + 8) == 0


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("ratio", [0.1, 0.3])
def test_lost_feedback_costs_little(ratio: float, seed: int) -> None:
    network, caller = on((0, 1_000), seed=seed)
    random = Random(seed)
    caller.is_deaf = lambda now_us: random.random() < ratio
    network.run(20)
    assert 0.85 * MBPS < caller.seen.arrived_bps(5, 20) < 1.01 * MBPS
    assert caller.seen.wait_us(5, 20) < 60_000
    assert caller.seen.frozen_s(1, 20) < 0.7


@pytest.mark.parametrize("seconds", [0.5, 2, 7])
def test_while_no_feedback_comes_little_is_sent_and_then_the_rate_is_back(seconds: float) -> None:
    network, caller = on((0, 1_000))
    end_s = 10 + seconds
    caller.is_deaf = lambda now_us: 10 * SECOND_US < now_us < end_s * SECOND_US
    network.run(end_s + 5)
    seen = caller.seen
    assert 0 < seen.arrived_bps(10.3, end_s) < 0.2 * MBPS
    assert 0.9 * MBPS < seen.arrived_bps(end_s + 1.5, end_s + 5) < 1.01 * MBPS
    assert seen.wait_us(end_s, end_s + 5) < 60_000


@pytest.mark.parametrize("kbps", [100, 1_000])
def test_a_path_that_never_answers_is_given_little(kbps: int) -> None:
    network, caller = on((0, kbps))
    caller.is_deaf = lambda now_us: True
    network.run(15)
    assert 30_000 < caller.seen.arrived_bps(5, 15) < 120_000
    assert caller.seen.full_ratio(5, 15) < 0.05


@pytest.mark.parametrize("per_million", [-200, 200])
def test_a_receivers_clock_that_drifts_does_no_harm(per_million: int) -> None:
    network, caller = on((0, 1_000))
    caller.clock = lambda now_us: 777 + now_us + now_us * per_million // 1_000_000
    network.run(70)
    assert 0.92 * MBPS < caller.seen.arrived_bps(10, 70) < 1.01 * MBPS
    assert caller.seen.wait_us(10, 70) < 60_000


@pytest.mark.parametrize("step_us", [-10_000_000, -100_000, 60_000, 300_000, 10_000_000])
def test_a_receivers_clock_that_is_set_does_no_harm(step_us: int) -> None:
    network, caller = on((0, 1_000))
    caller.clock = lambda now_us: now_us + (step_us if now_us > 10 * SECOND_US else 0)
    network.run(18)
    assert 0.9 * MBPS < caller.seen.arrived_bps(10, 12) < 1.05 * MBPS
    assert 0.92 * MBPS < caller.seen.arrived_bps(12, 18) < 1.02 * MBPS
    assert caller.seen.wait_us(10, 18) < 70_000


@pytest.mark.parametrize("longer_us", [20_000, 40_000, 80_000, 200_000])
def test_a_path_that_becomes_longer_is_used_again(longer_us: int) -> None:
    network, caller = on((0, 1_000))
    network.longer = lambda now_us: longer_us if now_us > 10 * SECOND_US else 0
    network.run(30)
    within_s = 7 if longer_us < 200_000 else 13
    assert 0.9 * MBPS < caller.seen.arrived_bps(10 + within_s, 30) < 1.01 * MBPS
    assert caller.seen.wait_us(10, 30) < 70_000


def test_a_path_that_becomes_shorter_is_used_as_before() -> None:
    network, caller = on((0, 1_000))
    network.longer = lambda now_us: 60_000 if now_us < 10 * SECOND_US else 0
    network.run(20)
    assert 0.92 * MBPS < caller.seen.arrived_bps(10.2, 20) < 1.02 * MBPS
    assert caller.seen.wait_us(10, 20) < 70_000


@pytest.mark.parametrize(("jitter_us", "least"), [(5_000, 0.92), (20_000, 0.9), (50_000, 0.7)])
def test_delivery_that_jitters_is_borne(jitter_us: int, least: float) -> None:
    for kbps in (300, 1_000):
        network, caller = on((0, kbps), jitter_us=jitter_us)
        network.run(20)
        assert least < caller.seen.arrived_bps(5, 20) / (kbps * 1_000) < 1.01
        assert caller.seen.wait_us(5, 20) < 100_000


@pytest.mark.parametrize(("most_us", "least"), [(20_000, 0.92), (60_000, 0.92), (150_000, 0.8)])
def test_feedback_that_jitters_is_borne(most_us: int, least: float) -> None:
    network, caller = on((0, 1_000))
    random = Random(most_us)
    caller.late_us = lambda now_us: random.randint(0, most_us)
    network.run(20)
    assert least * MBPS < caller.seen.arrived_bps(5, 20) < 1.01 * MBPS
    assert caller.seen.wait_us(5, 20) < 70_000


def test_all_of_it_together_is_survived() -> None:
    for seed in range(6):
        random = Random(seed)
        network, caller = on(
            (0, 800), (8, 200), (14, 0), (15, 800), loss_ratio=0.05, jitter_us=8_000, seed=seed
        )
        chance: Callable[[], float] = random.random
        caller.is_deaf = lambda now_us, chance=chance: chance() < 0.15  # type: ignore[misc]
        network.run(30)
        assert 0.7 < caller.seen.arrived_bps(3, 8) / 760_000 < 1.02, seed
        assert 0.7 < caller.seen.arrived_bps(10, 14) / 190_000 < 1.02, seed
        assert 0.7 < caller.seen.arrived_bps(20, 30) / 760_000 < 1.02, seed
        assert caller.seen.wait_us(10, 14) < 150_000, seed
