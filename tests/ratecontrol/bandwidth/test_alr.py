from __future__ import annotations

from codecpilot.ratecontrol.bandwidth.alr import AlrDetector


def send(detector: AlrDetector, *, rate_bps: int, from_us: int, to_us: int) -> None:
    for now_us in range(from_us, to_us, 20_000):
        detector.handle_sent(rate_bps * 20_000 // 8_000_000, now_us=now_us)


def test_a_source_that_uses_little_is_limited_within_a_second() -> None:
    detector = AlrDetector(estimate_bps=1_000_000)
    send(detector, rate_bps=200_000, from_us=0, to_us=2_000_000)
    assert detector.since_us is not None
    assert 500_000 < detector.since_us < 1_000_000


def test_one_that_uses_the_estimate_is_not() -> None:
    detector = AlrDetector(estimate_bps=1_000_000)
    send(detector, rate_bps=700_000, from_us=0, to_us=10_000_000)
    assert detector.since_us is None


def test_the_region_ends_when_the_source_uses_it_again() -> None:
    detector = AlrDetector(estimate_bps=1_000_000)
    send(detector, rate_bps=100_000, from_us=0, to_us=2_000_000)
    send(detector, rate_bps=1_000_000, from_us=2_000_000, to_us=2_300_000)
    assert detector.since_us is not None
    send(detector, rate_bps=1_000_000, from_us=2_300_000, to_us=3_000_000)
    assert detector.since_us is None


def test_a_higher_estimate_makes_the_same_source_limited() -> None:
    detector = AlrDetector(estimate_bps=500_000)
    send(detector, rate_bps=500_000, from_us=0, to_us=2_000_000)
    assert detector.since_us is None
    detector.set_estimate(2_000_000)
    send(detector, rate_bps=500_000, from_us=2_000_000, to_us=4_000_000)
    assert detector.since_us is not None


def test_time_that_runs_backwards_allows_nothing() -> None:
    detector = AlrDetector(estimate_bps=1_000_000)
    detector.handle_sent(100, now_us=5_000_000)
    for _ in range(100):
        detector.handle_sent(1, now_us=0)
    assert detector.since_us is None
