"""One call on one link: what it uses, and how long its packets wait."""

from __future__ import annotations

from random import Random

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.ratecontrol.bandwidth.codesign import CodesignEstimator
from codecpilot.ratecontrol.bandwidth.codesign_settings import CodesignSettings
from codecpilot.ratecontrol.bandwidth.messages import BandwidthEstimator, Feedback, SentPacket

from .caller import Caller, Seen
from .network import SECOND_US, Network, rate_steps

# Frames of the drop fall together with feedback in one way or another.
PHASES_S = (10.0, 10.017, 10.031)


def call(
    *steps: tuple[float, float],
    seconds: float,
    demand_bps: int = 2_500_000,
    queue_us: int = 300_000,
    delay_us: int = 25_000,
    feedback_us: int = 50_000,
    seed: int = 1,
) -> Seen:
    network = Network(rate_steps(*steps), queue_us=queue_us, delay_us=delay_us)
    estimator = CodesignEstimator()
    caller = Caller(network, estimator, demand_bps=demand_bps, feedback_us=feedback_us, seed=seed)
    network.run(seconds)
    return caller.seen


def short_again_s(seen: Seen, start_s: float, *, short_us: int = 50_000) -> float:
    """How long after a fall a packet would wait for less, once it did for longer."""
    long_s = next(s.now_us / SECOND_US for s in seen.between(start_s, 60) if s.wait_us > short_us)
    short = (s.now_us / SECOND_US for s in seen.between(long_s, 60) if s.wait_us < short_us)
    return next(short) - start_s


def test_it_is_a_bandwidth_estimator() -> None:
    estimator: BandwidthEstimator = CodesignEstimator(start_bps=400_000)
    assert 300_000 < estimator.target_bps <= 410_000
    assert 400_000 <= estimator.pacing_bps <= 1_200_000
    assert estimator.opens_us(now_us=0) is None
    assert estimator.poll_probe(now_us=0) is None
    assert estimator.poll_timeout() is None


def test_a_start_rate_below_the_least_is_refused() -> None:
    with pytest.raises(LocalError, match=r"10000 or more, got 9999"):
        CodesignEstimator(start_bps=9_999)
    assert CodesignEstimator(start_bps=10_000).target_bps >= 10_000


def test_feedback_of_no_packet_and_round_trips_change_nothing() -> None:
    estimator = CodesignEstimator()
    before = (estimator.target_bps, estimator.pacing_bps)
    estimator.handle_rtt(70_000, now_us=5)
    estimator.poll(now_us=6)
    estimator.handle_feedback(Feedback(now_us=7, results=()))
    assert estimator.target_bps == before[0]
    assert 0.3 * before[1] < estimator.pacing_bps <= before[1]


def test_what_is_in_flight_is_a_queue_before_any_feedback_tells() -> None:
    estimator = CodesignEstimator(start_bps=1_000_000)
    before_bps = estimator.target_bps
    for number in range(10):
        packet = SentPacket(number=number, sent_us=1_000, size_bytes=1_250)
        estimator.handle_sent(packet)
    assert estimator.queue_us == pytest.approx(100_000, rel=0.01)
    assert estimator.target_bps < 0.8 * before_bps
    opens_us = estimator.opens_us(now_us=1_000)
    # When the queue is short again.
    assert opens_us is not None
    assert 50_000 < opens_us < 101_000
    assert estimator.opens_us(now_us=opens_us) is None


@pytest.mark.parametrize("kbps", [100, 300, 1_000, 2_000])
@pytest.mark.parametrize("feedback_us", [25_000, 100_000])
def test_a_constant_link_is_used_and_its_queue_kept_short(kbps: int, feedback_us: int) -> None:
    seen = call((0, kbps), seconds=20, feedback_us=feedback_us)
    assert 0.92 < seen.arrived_bps(5, 20) / (kbps * 1_000) < 1.01
    assert seen.wait_us(5, 20) < 60_000
    assert seen.full_ratio(5, 20) == 0


def test_no_more_is_taken_than_the_sources_use() -> None:
    seen = call((0, 8_000), seconds=10, demand_bps=500_000)
    assert 450_000 < seen.arrived_bps(3, 10) < 560_000
    assert 500_000 < max(sample.target_bps for sample in seen.samples) <= 750_000
    assert seen.wait_us(0, 10) < 10_000


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_call_that_needs_1500_of_2000_kbps_has_it_within_3_seconds(seed: int) -> None:
    seen = call((0, 2_000), seconds=6, demand_bps=1_500_000, seed=seed)
    assert 0.8 * 1_500_000 < seen.arrived_bps(2.5, 3.5) < 1_700_000
    assert 0.9 * 1_500_000 < seen.arrived_bps(3.5, 6) < 1_700_000
    assert seen.wait_us(0, 6) < 60_000


@pytest.mark.parametrize("drop_s", PHASES_S)
@pytest.mark.parametrize("feedback_us", [30_000, 50_000, 100_000])
def test_600_150_600_kbps_has_a_short_queue_after_the_drop_and_the_rate_after_the_rise(
    drop_s: float, feedback_us: int
) -> None:
    seen = call((0, 600), (drop_s, 150), (20, 600), seconds=30, feedback_us=feedback_us)
    assert 0.92 < seen.arrived_bps(5, 10) / 600_000 < 1.01
    assert 0.1 < short_again_s(seen, drop_s) < 1.5
    assert seen.full_ratio(0, 30) <= 0.01
    # A key frame of 145 ms leaves faster than it is carried.
    assert seen.longest_wait_us(drop_s + 1.5, 20) < 220_000
    assert seen.wait_us(drop_s + 1.5, 20) < 80_000
    assert 0.85 < seen.arrived_bps(drop_s + 1.5, 20) / 150_000 < 1.02
    assert 0.9 < seen.arrived_bps(25, 27) / 600_000 < 1.02
    assert seen.wait_us(20, 30) < 70_000


def test_a_link_of_100_kbps_settles_and_hardly_freezes() -> None:
    for seed in (1, 2, 3):
        seen = call((0, 100), seconds=40, seed=seed)
        assert 0.9 < seen.arrived_bps(5, 40) / 100_000 < 1.01
        assert seen.wait_us(5, 40) < 80_000
        assert seen.frozen_s(0, 40) < 1


def test_a_link_of_30_kbps_goes_on() -> None:
    seen = call((0, 30), seconds=30)
    assert 0.85 < seen.arrived_bps(5, 30) / 30_000 < 1.01
    assert seen.wait_us(8, 30) < 150_000
    assert seen.frozen_s(5, 30, longer_us=500_000) == 0


@pytest.mark.parametrize("queue_us", [20_000, 50_000, 100_000])
def test_a_shallow_queue_is_not_overrun(queue_us: int) -> None:
    for kbps in (1_000, 2_000):
        seen = call((0, kbps), seconds=20, queue_us=queue_us)
        assert 0.85 < seen.arrived_bps(5, 20) / (kbps * 1_000) < 1.01
        assert seen.full_ratio(5, 20) < (0.06 if queue_us == 20_000 else 0.01)


@pytest.mark.parametrize("delay_us", [2_000, 80_000, 150_000])
def test_the_length_of_the_path_does_not_matter(delay_us: int) -> None:
    seen = call((0, 1_000), (10, 400), seconds=20, delay_us=delay_us, queue_us=600_000)
    assert 0.9 < seen.arrived_bps(5, 10) / 1_000_000 < 1.01
    assert short_again_s(seen, 10) < 1.5
    assert 0.85 < seen.arrived_bps(12, 20) / 400_000 < 1.01
    assert seen.wait_us(12, 20) < 110_000


def test_on_links_drawn_at_random_capacity_is_used_and_queues_stay_short() -> None:
    """Rates of 150 to 3000 kbps that change by up to a factor of three every two to six seconds."""
    for seed in range(12):
        random = Random(seed)
        kbps, at_s, steps = random.uniform(400, 2_000), 0.0, []
        while at_s < 30:
            steps.append((at_s, kbps))
            at_s += random.uniform(2, 6)
            kbps = min(max(kbps * 3 ** random.uniform(-1, 1), 150), 3_000)
        network = Network(rate_steps(*steps), delay_us=random.randint(5_000, 60_000), seed=seed)
        caller = Caller(
            network,
            CodesignEstimator(),
            demand_bps=5_000_000,
            feedback_us=random.randint(25_000, 100_000),
            seed=seed,
        )
        network.run(30)
        used = caller.seen.arrived_bps(3, 30) / network.capacity_bps(3, 30)
        assert 0.8 < used < 1.01, seed
        assert caller.seen.wait_us(3, 30) < 150_000, seed
        assert caller.seen.wait_us(3, 30, share=0.5) < 40_000, seed
        assert caller.seen.full_ratio(3, 30) < 0.01, seed


def test_when_the_sources_want_more_it_is_found() -> None:
    network = Network(rate_steps((0, 3_000)))
    caller = Caller(network, CodesignEstimator(), demand_bps=100_000)
    network.at(10 * SECOND_US, lambda: caller.set_demand(1_500_000))
    network.run(18)
    assert max(sample.target_bps for sample in caller.seen.between(0, 10)) <= 150_000
    assert 0.9 * 1_500_000 < caller.seen.arrived_bps(14, 18) < 1_700_000


def test_frames_of_any_size_and_pace_find_the_rate_from_any_start() -> None:
    for start_bps in (30_000, 300_000, 2_000_000):
        network = Network(rate_steps((0, 800)))
        caller = Caller(network, CodesignEstimator(start_bps=start_bps))
        network.run(15)
        assert 0.9 < caller.seen.arrived_bps(8, 15) / 800_000 < 1.01
        assert caller.seen.wait_us(8, 15) < 60_000


def test_settings_are_taken() -> None:
    settings = CodesignSettings(min_bps=50_000, start_bps=60_000)
    assert 50_000 <= CodesignEstimator(settings).target_bps < 66_000
    with pytest.raises(LocalError, match="50000 or more, got 40000"):
        CodesignEstimator(settings, start_bps=40_000)


def test_the_same_calls_give_the_same_estimates() -> None:
    runs = [call((0, 800), (4, 200), (8, 900), seconds=12) for _ in range(2)]
    assert runs[0] == runs[1]
    assert len({sample.target_bps for sample in runs[0].samples}) > 100
