from __future__ import annotations

from collections.abc import Callable

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.ratecontrol.bandwidth.acknowledged import AcknowledgedSettings
from codecpilot.ratecontrol.bandwidth.gcc import GccEstimator, GccSettings
from codecpilot.ratecontrol.bandwidth.messages import (
    BandwidthEstimator,
    Feedback,
    PacketResult,
    SentPacket,
)
from codecpilot.ratecontrol.bandwidth.probes import ProbeSettings

from .link import SECOND_US, Call, Link


def constant(rate_bps: int) -> Callable[[int], int]:
    return lambda now_us: rate_bps


def steps(*changes: tuple[float, int]) -> Callable[[int], int]:
    """Rates from these seconds on."""
    return lambda now_us: [rate for start_s, rate in changes if start_s * SECOND_US <= now_us][-1]


def call(rate_bps: Callable[[int], int], *, loss_ratio: float = 0.0) -> Call:
    return Call(estimator=GccEstimator(), link=Link(rate_bps=rate_bps, loss_ratio=loss_ratio))


def test_it_is_a_bandwidth_estimator() -> None:
    estimator: BandwidthEstimator = GccEstimator()
    assert estimator.target_bps == 300_000
    assert estimator.pacing_bps == 750_000


def test_a_start_rate_below_the_least_is_refused() -> None:
    with pytest.raises(LocalError, match=r"10000 or more, got 9999"):
        GccEstimator(start_bps=9_999)


@pytest.mark.parametrize("rate_bps", [100_000, 300_000, 1_000_000, 2_000_000])
def test_it_converges_to_a_constant_link(rate_bps: int) -> None:
    run = call(constant(rate_bps))
    run.run(30)
    assert 0.85 * rate_bps < run.mean_target(15, 30) < 1.05 * rate_bps
    waits_us = sorted(sample.wait_us for sample in run.between(15, 30))
    assert waits_us[len(waits_us) * 95 // 100] < 130_000
    assert run.estimator.pacing_bps == round(1.1 * run.estimator.target_bps)


def test_a_call_finds_its_rate_by_probes_within_a_second() -> None:
    run = call(constant(3_000_000))
    run.demand_bps = constant(1_500_000)
    run.run(5)
    assert run.probes_bps[:2] == [900_000, 1_800_000]
    assert run.between(1, 2)[0].target_bps >= 1_500_000
    assert max(run.probes_bps) <= 3_000_000
    assert max(sample.target_bps for sample in run.samples) <= 3_010_000


def test_it_backs_off_after_a_step_down_and_the_queue_drains() -> None:
    run = call(steps((0, 600_000), (10, 150_000)))
    run.run(30)
    assert 450_000 < run.mean_target(8, 10) < 630_000
    assert max(sample.target_bps for sample in run.between(11.5, 30)) < 200_000
    assert 0.75 * 150_000 < run.mean_target(15, 30) < 1.05 * 150_000
    assert min(sample.wait_us for sample in run.between(12, 16)) < 50_000


def test_it_recovers_after_a_step_up() -> None:
    run = call(steps((0, 600_000), (10, 150_000), (20, 600_000)))
    run.run(45)
    assert run.mean_target(18, 20) < 170_000
    assert 0.8 * 600_000 < run.mean_target(40, 45) < 1.05 * 600_000


def test_one_percent_of_random_loss_does_no_harm() -> None:
    clean, lossy = call(constant(1_000_000)), call(constant(1_000_000), loss_ratio=0.01)
    clean.run(40)
    lossy.run(40)
    assert 0.95 < lossy.mean_target(10, 40) / clean.mean_target(10, 40) < 1.05


def test_a_fifth_lost_lowers_the_rate() -> None:
    run = call(constant(1_000_000), loss_ratio=0.2)
    run.run(20)
    assert 10_000 <= run.estimator.target_bps < 300_000


def test_a_receiver_clock_200_ppm_off_does_no_harm() -> None:
    for clock in (lambda us: us + us // 5_000, lambda us: us - us // 5_000):
        run = call(constant(1_000_000))
        run.clock = clock
        run.run(30)
        assert 0.85 * 1_000_000 < run.mean_target(10, 30) < 1_050_000


def test_lost_feedback_lowers_the_rate_and_a_probe_brings_it_back() -> None:
    run = call(constant(1_000_000))
    run.deaf = lambda now_us: 10 * SECOND_US < now_us < 17 * SECOND_US
    run.run(20)
    before = run.mean_target(9, 10)
    assert run.between(16.9, 17)[-1].target_bps < 0.55 * before
    assert 0.85 * before < run.between(18, 18.1)[0].target_bps < 1.1 * before


def test_a_source_that_grows_is_given_room_within_a_second() -> None:
    run = call(constant(3_000_000))
    run.demand_bps = steps((0, 200_000), (12, 1_500_000))
    run.run(14)
    # Probes stop at twice the demand.
    assert max(sample.target_bps for sample in run.between(0, 12)) <= 410_000
    assert run.between(13, 14)[0].target_bps >= 1_500_000


def test_after_a_short_dip_what_was_before_is_probed() -> None:
    settings = GccSettings(probes=ProbeSettings(drop_needs_alr=False))
    run = call(steps((0, 800_000), (10, 100_000), (10.5, 800_000)))
    run.estimator = GccEstimator(settings)
    run.run(20)
    before = run.mean_target(9, 10)
    assert 0.75 * before < run.probes_bps[-1] < 1.05 * before
    assert 0.7 * before < run.mean_target(13, 20) < 1.05 * before


def test_a_probe_lowers_the_target_no_further_than_a_little_below_what_arrives() -> None:
    estimator = GccEstimator(start_bps=550_000)
    estimator.set_demand(500_000, now_us=0)
    cluster = estimator.poll_probe(now_us=0)
    assert cluster is not None
    sent_us = arrival_us = 0
    for number in range(206):
        probing = number >= 200
        sent_us += 20_000
        arrival_us += 28_000 if probing else 20_000
        packet = SentPacket(
            number=number,
            sent_us=sent_us,
            size_bytes=1_250,
            probe_id=cluster.probe_id if probing else None,
        )
        results = (PacketResult(packet=packet, arrival_us=arrival_us),)
        feedback = Feedback(now_us=sent_us + 50_000, results=results)
        estimator.handle_sent(packet)
        estimator.handle_feedback(feedback)
    # The probe reached 339 kbps of the 500 kbps that arrived before.
    assert 0.85 * 440_000 < estimator.target_bps < 0.85 * 540_000


def test_when_the_source_is_no_longer_limited_what_arrives_is_followed_faster() -> None:
    reached = []
    for variance in (0.0, 200.0):
        run = call(constant(3_000_000))
        acknowledged = AcknowledgedSettings(change_variance=variance)
        estimator = GccEstimator(GccSettings(acknowledged=acknowledged))
        run.estimator = estimator
        run.demand_bps = steps((0, 800_000), (5, 200_000), (10, 1_500_000))
        run.run(11)
        reached.append(estimator.acknowledged_bps or 0)
    assert 200_000 < reached[0] < 0.5 * reached[1] < 750_000


def test_the_same_calls_give_the_same_estimates() -> None:
    runs = [call(steps((0, 800_000), (5, 300_000)), loss_ratio=0.03) for _ in range(2)]
    for run in runs:
        run.run(12)
    assert runs[0].samples == runs[1].samples
    assert runs[0].probes_bps == runs[1].probes_bps


def test_feedback_of_no_packet_is_none() -> None:
    estimator = GccEstimator()
    estimator.handle_feedback(Feedback(now_us=5, results=()))
    assert estimator.pacing_bps == 750_000


def test_the_timeout_is_that_of_a_pending_probe_then_of_silence() -> None:
    estimator = GccEstimator()
    assert estimator.poll_timeout() is None
    estimator.set_demand(1_000_000, now_us=70)
    assert estimator.poll_timeout() == 70
    while estimator.poll_probe(now_us=80):
        pass
    assert estimator.poll_timeout() is None
