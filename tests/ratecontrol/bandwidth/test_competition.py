from __future__ import annotations

import pytest

from codecpilot.ratecontrol.bandwidth.competition import (
    MARGIN_US,
    MIN_PACKETS,
    SHORT_FOR_US,
    Competition,
)

STEP_US = 50_000
CAPACITY_BPS = 1_000_000.0


class Watched:
    """A competition that is told of feedback every 50 ms."""

    def __init__(self) -> None:
        self.competition = Competition()
        self.now_us = 0

    def step(
        self, queue_us: float, *, sent_ratio: float = 0.05, loss: bool = False, packets: int = 2
    ) -> None:
        self.now_us += STEP_US
        self.competition.update(
            queue_us=queue_us,
            elapsed_us=STEP_US,
            sent_bits=int(sent_ratio * CAPACITY_BPS * STEP_US / 1e6),
            capacity_bps=CAPACITY_BPS,
            target_bps=50_000,
            packets=packets,
            now_us=self.now_us,
        )
        self.competition.follow(
            queue_us=queue_us,
            rtt_us=50_000 + queue_us,
            has_loss=loss,
            elapsed_us=STEP_US,
            now_us=self.now_us,
        )

    def steps_until_found(self, queue_us: float, *, most: int = 200) -> int | None:
        for count in range(1, most):
            self.step(queue_us)
            if self.competition.rate_bps is not None:
                return count
        return None

    def flags(self) -> tuple[bool, bool]:
        competition = self.competition
        return competition.is_over(now_us=self.now_us), competition.is_path(now_us=self.now_us)


def found(queue_us: float = 200_000) -> Watched:
    watched = Watched()
    assert watched.steps_until_found(queue_us) is not None
    return watched


def test_at_first_there_is_no_competitor() -> None:
    watched = Watched()
    assert watched.competition.rate_bps is None
    assert watched.flags() == (False, False)


def test_a_queue_that_stays_although_little_is_sent_belongs_to_another() -> None:
    watched = Watched()
    steps = watched.steps_until_found(200_000)
    # 200 ms and a margin have to drain first.
    assert steps is not None
    assert 0.9 < steps * STEP_US / (200_000 + MARGIN_US) < 1.5
    assert watched.competition.rate_bps == pytest.approx(CAPACITY_BPS / 4, rel=0.1)


def test_the_longer_the_queue_the_longer_it_may_be_our_own() -> None:
    short, long = Watched().steps_until_found(150_000), Watched().steps_until_found(800_000)
    assert short is not None
    assert long is not None
    assert 0.5 < (long - short) * STEP_US / 650_000 < 1.5


def test_our_own_queue_is_no_competitor() -> None:
    watched = Watched()
    # It drains at the rate that is not sent.
    for queue_us in range(900_000, 0, -45_000):
        watched.step(queue_us, sent_ratio=0.1)
    assert watched.competition.rate_bps is None


def test_what_we_send_ourselves_keeps_a_queue_without_competitor() -> None:
    watched = Watched()
    for _ in range(400):
        watched.step(200_000, sent_ratio=1)
    assert watched.competition.rate_bps is None


def test_a_queue_that_calls_settle_on_is_none() -> None:
    assert Watched().steps_until_found(50_000) is None


def test_a_queue_that_is_short_now_and_then_is_found() -> None:
    watched = Watched()
    for step in range(100):
        watched.step(20_000 if step % 10 < 3 else 130_000)
    assert watched.competition.rate_bps is not None


def test_a_queue_that_was_short_for_long_is_another_one() -> None:
    watched = Watched()
    short_steps = SHORT_FOR_US // STEP_US + 2
    for step in range(20 * (short_steps + 8)):
        watched.step(150_000 if step % (short_steps + 8) < 8 else 10_000)
    assert watched.competition.rate_bps is None


def test_a_few_packets_are_not_enough_to_be_sure() -> None:
    watched = Watched()
    for _ in range(MIN_PACKETS):
        watched.step(150_000, packets=0)
    assert watched.competition.rate_bps is None
    for _ in range(200):
        watched.step(150_000, packets=1)
    assert watched.competition.rate_bps is not None


def test_without_loss_the_rate_grows_as_a_flow_does() -> None:
    watched = found()
    before_bps = watched.competition.rate_bps
    for _ in range(20):
        watched.step(200_000)
    after_bps = watched.competition.rate_bps
    assert before_bps is not None
    assert after_bps is not None
    # Four round trips of 250 ms: a packet of 12 kbit in each would be 48 kbps more each time.
    assert 40_000 < after_bps - before_bps < 250_000


def test_loss_lowers_it_once_a_round_trip() -> None:
    watched = found()
    watched.step(200_000)
    for _ in range(10):
        watched.step(200_000)
    before_bps = watched.competition.rate_bps
    watched.step(200_000, loss=True)
    lowered_bps = watched.competition.rate_bps
    watched.step(200_000, loss=True)
    again_bps = watched.competition.rate_bps
    assert before_bps is not None
    assert lowered_bps is not None
    assert again_bps is not None
    assert 0.5 < lowered_bps / before_bps < 0.9
    assert 1 <= again_bps / lowered_bps < 1.1


def test_it_is_over_when_the_queue_has_gone_for_a_while() -> None:
    watched = found()
    watched.step(10_000)
    assert watched.flags() == (False, False)
    for _ in range(10):
        watched.step(10_000)
    assert watched.flags() == (True, False)
    watched.competition.end()
    assert watched.competition.rate_bps is None
    assert watched.flags() == (False, False)


def test_a_queue_that_is_back_at_once_has_not_gone() -> None:
    watched = found()
    for step in range(40):
        watched.step(200_000 if step % 4 == 0 else 10_000)
        assert not watched.flags()[0]


def test_a_delay_that_does_not_move_is_the_paths() -> None:
    watched = found()
    for step in range(80):
        watched.step(200_000 + step % 3 * 5_000)
    assert watched.flags() == (False, True)


@pytest.mark.parametrize("is_lossy", [False, True])
def test_a_delay_that_moves_or_loses_is_a_flows(is_lossy: bool) -> None:
    watched = found()
    for step in range(200):
        swing_us = 0 if is_lossy else step % 20 * 8_000
        watched.step(200_000 + swing_us, loss=is_lossy and step % 20 == 0)
        assert watched.flags() == (False, False)


def test_after_its_end_another_one_is_found_anew() -> None:
    watched = found()
    watched.competition.end()
    steps = watched.steps_until_found(200_000)
    assert steps is not None
    assert 0.9 < steps * STEP_US / (200_000 + MARGIN_US) < 1.5
