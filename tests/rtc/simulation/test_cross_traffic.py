"""Flows of others on a link: they fill it, share it among them, and end when they are told to."""

from __future__ import annotations

import random

import pytest

from codecpilot.rtc.simulation.aimd_flow import PACKET_BYTES
from codecpilot.rtc.simulation.cross_traffic import CrossTraffic
from codecpilot.rtc.simulation.event_loop import EventLoop
from codecpilot.rtc.simulation.link import Link, LinkSettings, LossReason
from codecpilot.rtc.simulation.loss import loss_process
from codecpilot.rtc.simulation.rate import parse_rate
from codecpilot.rtc.simulation.steps import Steps

US_PER_S = 1_000_000


def traffic(
    flows: dict[int, int], *, rate: str = "2000", seconds: int = 30, loss: float = 0.0
) -> tuple[CrossTraffic, Link]:
    """Flows by the second from which on there are that many, on a path of 50 ms there and back."""
    loop, rng = EventLoop(), random.Random(1)
    link = Link(
        rate=parse_rate(rate),
        loss=loss_process(Steps.constant(loss), burst=1, rng=rng),
        settings=LinkSettings(delay_us=25_000, queue_us=100_000),
        rng=rng,
    )
    steps = Steps(tuple(s * US_PER_S for s in flows), tuple(flows.values()))
    made = CrossTraffic(steps, link=link, ack_delay_us=25_000, loop=loop)
    loop.run_until(seconds * US_PER_S)
    return made, link


def kbps(made: CrossTraffic, from_s: float, to_s: float) -> float:
    packets = sum(from_s * US_PER_S <= t < to_s * US_PER_S for t in made.served_us)
    return packets * PACKET_BYTES * 8 / 1000 / (to_s - from_s)


@pytest.mark.parametrize("flows", [1, 3])
def test_flows_fill_a_link_and_its_queue(flows):
    made, link = traffic({0: flows})
    assert 1900 <= kbps(made, 2, 30) <= 2010
    assert 10 <= link.counters.dropped[LossReason.QUEUE] <= 0.06 * link.counters.offered_packets
    delays = sorted(link.counters.queue_delays_us)
    assert 30_000 <= delays[len(delays) // 2] <= 100_000


def test_flows_begin_and_end_when_told():
    made, _ = traffic({0: 0, 5: 2, 10: 0, 20: 1})
    assert kbps(made, 0, 5) == kbps(made, 10, 20) == 0
    assert 1700 <= kbps(made, 5, 10) <= 2100
    assert 1700 <= kbps(made, 20, 30) <= 2100
    spans = [(5, 10), (20, 30)]
    assert made.spans_us(30 * US_PER_S) == [(a * US_PER_S, b * US_PER_S) for a, b in spans]
    assert made.spans_us(8 * US_PER_S) == [(5 * US_PER_S, 8 * US_PER_S)]


def test_random_loss_holds_a_flow_to_what_its_law_says():
    made, _ = traffic({0: 1}, rate="100000", seconds=60, loss=0.01)
    # Mathis and others (1997): 1500 bytes / 50 ms * sqrt(3/2 / 0.01), every packet acknowledged.
    assert 0.6 * 2939 <= kbps(made, 5, 60) <= 1.4 * 2939


def test_an_outage_is_survived():
    made, _ = traffic({0: 1}, rate="0:2000,5:0,10:2000", seconds=20)
    assert kbps(made, 6, 10) <= 20
    assert 1600 <= kbps(made, 12, 20) <= 2010
