from __future__ import annotations

from codecpilot.ratecontrol.bandwidth.outage import OutageGuard

SECOND_US = 1_000_000


def send(guard: OutageGuard, *, from_us: int, to_us: int, rate_bps: int = 1_000_000) -> list[int]:
    """Packets every 20 ms, the rate asked for after each; times of its steps down."""
    steps_us = []
    for now_us in range(from_us, to_us, 20_000):
        guard.handle_sent(now_us=now_us)
        lower_bps = guard.limit(rate_bps, now_us=now_us)
        if lower_bps < rate_bps:
            steps_us.append(now_us)
            rate_bps = lower_bps
    return steps_us


def test_silence_while_sending_lowers_the_rate_every_second() -> None:
    guard = OutageGuard()
    guard.handle_feedback(rtt_us=100_000)
    steps_us = send(guard, from_us=0, to_us=6 * SECOND_US)
    assert steps_us == [2_900_000, 3_900_000, 4_900_000, 5_900_000]


def test_each_step_keeps_four_fifths_down_to_the_floor() -> None:
    guard = OutageGuard()
    send(guard, from_us=0, to_us=2_900_000)
    guard.handle_sent(now_us=3_000_000)
    assert guard.limit(1_000_000, now_us=3_000_000) == 800_000
    guard.handle_sent(now_us=4_000_000)
    assert guard.limit(5_500, now_us=4_000_000) == 5_000
    guard.handle_sent(now_us=5_000_000)
    assert guard.limit(4_000, now_us=5_000_000) == 4_000


def test_silence_says_nothing_when_nothing_is_sent() -> None:
    guard = OutageGuard()
    send(guard, from_us=0, to_us=SECOND_US)
    assert guard.poll_timeout() is None
    assert guard.limit(1_000_000, now_us=60 * SECOND_US) == 1_000_000


def test_one_packet_after_a_pause_is_given_its_time() -> None:
    guard = OutageGuard()
    guard.handle_sent(now_us=0)
    guard.handle_feedback(rtt_us=50_000)
    guard.handle_sent(now_us=60 * SECOND_US)
    assert guard.limit(1_000_000, now_us=60 * SECOND_US + 1) == 1_000_000


def test_the_first_feedback_returns_the_rate_before_the_outage_once() -> None:
    guard = OutageGuard()
    guard.handle_feedback(rtt_us=50_000)
    send(guard, from_us=0, to_us=6 * SECOND_US, rate_bps=700_000)
    assert guard.handle_feedback(rtt_us=80_000) == 700_000
    assert guard.handle_feedback(rtt_us=80_000) is None


def test_round_trips_longer_than_the_limit_go_on_lowering() -> None:
    guard = OutageGuard()
    for second in range(1, 5):
        assert guard.handle_feedback(rtt_us=4_000_000) is None
        guard.handle_sent(now_us=second * SECOND_US)
        assert guard.limit(1_000_000, now_us=second * SECOND_US) == 800_000


def test_the_timeout_is_the_next_step() -> None:
    guard = OutageGuard()
    send(guard, from_us=0, to_us=3_000_001)
    assert guard.poll_timeout() is None
    guard.handle_sent(now_us=3_020_000)
    assert guard.poll_timeout() == 4_000_000
