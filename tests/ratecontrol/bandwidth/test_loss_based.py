from __future__ import annotations

import pytest

from codecpilot.ratecontrol.bandwidth.loss_based import LossBasedEstimator

LIMIT_BPS = 10_000_000


def estimator() -> LossBasedEstimator:
    return LossBasedEstimator(start_bps=500_000, min_bps=10_000)


def run(loss: LossBasedEstimator, *, lost_percent: int, seconds: int, from_s: int = 0) -> int:
    """Feedback every 50 ms about 20 packets a second."""
    lost = 0
    for i in range(seconds * 20 + 1):
        now_us = from_s * 1_000_000 + i * 50_000
        due = i * lost_percent // 100
        loss.handle_results(lost=due - lost, total=1, now_us=now_us)
        lost = due
        loss.update(limit_bps=LIMIT_BPS, now_us=now_us)
    return loss.rate_bps


def test_without_losses_it_rises_by_eight_percent_a_second() -> None:
    loss = estimator()
    rate_bps = run(loss, lost_percent=0, seconds=6)
    assert loss.loss_ratio == 0.0
    assert 500_000 * 1.08**4 < rate_bps < 510_000 * 1.08**6


def test_between_the_thresholds_it_holds() -> None:
    loss = estimator()
    assert run(loss, lost_percent=5, seconds=10) == 500_000
    assert loss.loss_ratio == pytest.approx(0.05)


def test_above_it_falls_by_half_the_loss_a_count() -> None:
    loss = estimator()
    rate_bps = run(loss, lost_percent=20, seconds=3)
    assert 500_000 * 0.9**3 - 9_000 < rate_bps < 500_000 * 0.9**2 + 9_000


def test_a_long_round_trip_spaces_the_steps_down() -> None:
    loss = estimator()
    loss.set_rtt(4_000_000)
    rate_bps = run(loss, lost_percent=20, seconds=5)
    assert 500_000 * 0.9 - 5_000 < rate_bps < 500_000 * 0.9 + 5_000


def test_the_limit_and_the_least_hold() -> None:
    loss = estimator()
    assert loss.update(limit_bps=200_000, now_us=0) == 200_000
    assert loss.update(limit_bps=1, now_us=1) == 10_000
    loss.set_rate(5)
    assert loss.rate_bps == 10_000


def test_too_few_packets_are_no_count() -> None:
    loss = estimator()
    for second in range(15):
        loss.handle_results(lost=1, total=1, now_us=second * 1_000_000)
        loss.update(limit_bps=LIMIT_BPS, now_us=second * 1_000_000)
    assert loss.loss_ratio is None
    assert loss.rate_bps == 500_000


def test_an_old_count_is_no_longer_believed() -> None:
    loss = estimator()
    run(loss, lost_percent=0, seconds=2)
    for second in range(3, 60):
        loss.update(limit_bps=LIMIT_BPS, now_us=second * 1_000_000)
    # It is believed for 6 s.
    assert 500_000 < loss.rate_bps < 500_000 * 1.09**9


def test_losses_that_are_taken_back_count_as_none() -> None:
    loss = estimator()
    for i in range(41):
        loss.handle_results(lost=-1 if i % 2 else 1, total=1, now_us=i * 50_000)
    assert loss.loss_ratio is not None
    assert 0.0 <= loss.loss_ratio <= 0.05
