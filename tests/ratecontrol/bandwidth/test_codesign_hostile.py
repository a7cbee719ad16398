"""Feedback from a peer that makes up what arrived and when."""

from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.codesign import CodesignEstimator
from codecpilot.ratecontrol.bandwidth.messages import Feedback, PacketResult, SentPacket

DEMAND_BPS = 2_000_000
MIN_BPS = 10_000
START_BPS = 30_000
# What was acknowledged counts over 400 ms, at the start over 100.
WINDOW_US, SHORT_US = 400_000, 100_000

arrivals = st.one_of(
    st.none(),
    st.integers(min_value=0, max_value=3_000),
    st.integers(min_value=-(2**38), max_value=2**38),
)
packets = st.tuples(st.integers(0, 40_000), st.integers(1, 1_500), arrivals)
# Each feedback: how much later it comes, and the packets that left before it.
reports = st.lists(
    st.tuples(st.integers(0, 3_000_000), st.lists(packets, max_size=25)), max_size=25
)


class Peer:
    """Sends packets, lies about them, and counts what it acknowledged."""

    def __init__(self) -> None:
        self.estimator = CodesignEstimator(start_bps=START_BPS)
        self.now_us = 0
        self.estimator.set_demand(DEMAND_BPS, now_us=0)
        self._acknowledged: list[tuple[int, int]] = []
        self._number = 0

    def send(self, size_bytes: int) -> SentPacket:
        packet = SentPacket(number=self._number, sent_us=self.now_us, size_bytes=size_bytes)
        self._number += 1
        self.estimator.handle_sent(packet)
        return packet

    def tell(self, said: list[tuple[SentPacket, int | None]]) -> None:
        """Small numbers are delays that a true receiver may see, in tenths of a millisecond."""
        results = tuple(
            PacketResult(
                packet=packet,
                arrival_us=packet.sent_us + 100 * at if at is not None and 0 <= at <= 3_000 else at,
            )
            for packet, at in said
        )
        for result in results:
            if result.arrival_us is not None:
                self._acknowledged.append((self.now_us, result.packet.size_bytes))
        feedback = Feedback(now_us=self.now_us, results=results)
        self.estimator.handle_feedback(feedback)

    @property
    def acknowledged_bps(self) -> float:
        """The most that the last window may be taken for."""
        inside = [size for at_us, size in self._acknowledged if at_us > self.now_us - WINDOW_US]
        return 8e6 * sum(inside) / SHORT_US

    def check(self) -> None:
        estimator = self.estimator
        assert MIN_BPS <= estimator.target_bps <= 1.5 * DEMAND_BPS
        assert 30_000 <= estimator.pacing_bps <= 10 * DEMAND_BPS
        assert estimator.queue_us >= 0
        opens_us = estimator.opens_us(now_us=self.now_us)
        # Signs of life go out at all times.
        assert opens_us is None or self.now_us < opens_us <= self.now_us + 1_000_000


@given(reports)
def test_nothing_that_is_told_leads_out_of_range(
    told: list[tuple[int, list[tuple[int, int, int | None]]]],
) -> None:
    peer = Peer()
    for wait_us, sent in told:
        said = []
        for gap_us, size_bytes, at in sent:
            peer.now_us += gap_us
            said.append((peer.send(size_bytes), at))
        peer.now_us += wait_us
        peer.tell(said)
        peer.check()


@given(reports)
def test_the_target_is_never_far_above_what_was_acknowledged(
    told: list[tuple[int, list[tuple[int, int, int | None]]]],
) -> None:
    peer = Peer()
    # The start rate, at which nothing was told yet, and what its empty queue adds.
    bound_bps = 1.1 * START_BPS
    for wait_us, sent in told:
        said = []
        for gap_us, size_bytes, at in sent:
            peer.now_us += gap_us
            said.append((peer.send(size_bytes), at))
        peer.now_us += wait_us
        peer.tell(said)
        bound_bps = max(bound_bps, 1.1 * (2 * peer.acknowledged_bps + 10_000))
        assert peer.estimator.target_bps <= bound_bps


def test_a_burst_told_as_one_instant_gains_at_most_twice_what_was_sent() -> None:
    """500 kbps in bursts; each looks as if it had waited for the one before, and for no time itself."""
    peer, targets = Peer(), []
    for step in range(100):
        peer.now_us += 100_000
        sent_us = peer.now_us
        burst = []
        for _ in range(5):
            burst.append(peer.send(1_250))
            peer.now_us += 200
        wait_us = 20_000 if step % 20 == 0 else 49_000
        peer.now_us = sent_us + 60_000
        peer.tell([(packet, 10**10 + sent_us + wait_us + n) for n, packet in enumerate(burst)])
        peer.now_us = sent_us
        targets.append(peer.estimator.target_bps)
    assert 450_000 < max(targets) <= 1.1 * (2 * 500_000 + 10_000)


@given(st.lists(st.tuples(st.integers(0, 99), arrivals), max_size=100))
def test_packets_told_in_any_order_and_again_lead_nowhere(
    told: list[tuple[int, int | None]],
) -> None:
    peer = Peer()
    sent = []
    for _ in range(100):
        peer.now_us += 20_000
        sent.append(peer.send(1_250))
    for number, at in told:
        peer.now_us += 10_000
        peer.tell([(sent[number], at)])
        peer.check()


def honest_and_squeezed(squeeze: float, *, seed: int = 1) -> list[int]:
    """Targets over a minute of packets at 500 kbps, told as if they had come closer together."""
    peer, random, targets = Peer(), Random(seed), []
    for _ in range(600):
        said: list[tuple[SentPacket, int | None]] = []
        for _ in range(5):
            peer.now_us += 20_000
            packet = peer.send(1_250)
            said.append((packet, 10**9 + int(peer.now_us / squeeze) + random.randint(0, 50)))
        peer.now_us += 1
        peer.tell(said)
        targets.append(peer.estimator.target_bps)
    return targets


@pytest.mark.parametrize("squeeze", [1, 1.5, 3, 1_000, -1])
def test_arrival_times_closer_together_gain_at_most_twice_what_was_sent(squeeze: float) -> None:
    assert max(honest_and_squeezed(squeeze)[20:]) <= 2 * 525_000 + 10_000
    assert honest_and_squeezed(1)[-1] > 450_000


def test_a_peer_that_sets_its_clock_all_the_time_gains_nothing() -> None:
    random, peer = Random(5), Peer()
    for step in range(400):
        said: list[tuple[SentPacket, int | None]] = []
        for _ in range(5):
            peer.now_us += 10_000
            said.append((peer.send(625), random.randint(-(10**12), 10**12)))
        peer.tell(said)
        peer.check()
        assert step < 20 or peer.estimator.target_bps <= 2 * 525_000 + 10_000


def test_the_work_of_a_feedback_is_bounded_whatever_waits() -> None:
    """Twenty thousand packets that nobody answers, then a flood of feedback about the last."""
    peer = Peer()
    for _ in range(20_000):
        peer.now_us += 100
        last = peer.send(1_500)
    times = []
    for _ in range(200):
        peer.now_us += 10
        began_ns = time.thread_time_ns()
        peer.tell([(last, 10)])
        peer.estimator.opens_us(now_us=peer.now_us)
        times.append((time.thread_time_ns() - began_ns) / 1e6)
        last = peer.send(1_500)
    # Milliseconds; a twentieth of one as a rule.
    assert 0 < sorted(times)[100] < 1
    peer.check()
