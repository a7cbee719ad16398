"""The figures of an emulated link, as a whole and of the last moment."""

from __future__ import annotations

import random

from codecpilot.rtc.simulation.link import Link, LinkSettings
from codecpilot.rtc.simulation.loss import loss_process
from codecpilot.rtc.simulation.rate import parse_rate
from codecpilot.rtc.simulation.steps import Steps
from codecpilot.samples.call.link_meter import LinkMeter


def link(*, rate: str = "800", loss: float = 0.0, queue_us: int | None = None) -> Link:
    return Link(
        rate=parse_rate(rate),
        loss=loss_process(Steps.constant(loss), burst=1, rng=random.Random(1)),
        settings=LinkSettings(queue_us=queue_us),
        rng=random.Random(1),
    )


def test_a_link_that_carried_nothing_has_no_delays() -> None:
    assert LinkMeter(link()).summary(0) == {
        "queue_delay_ms": {"p50": None, "p95": None},
        "utilisation": None,
        "packets_offered": 0,
        "packets_lost": 0,
        "packets_dropped": 0,
    }


def test_waits_and_use_are_those_of_the_packets() -> None:
    path = link()
    for _ in range(4):  # 10 ms each at 100 bytes a ms
        path.offer(1000, now_us=0)
    figures = LinkMeter(path).summary(80_000)
    assert figures["queue_delay_ms"] == {"p50": 10.0, "p95": 30.0}
    assert figures["utilisation"] == 0.5
    # What still waits was not carried yet.
    assert LinkMeter(path).summary(20_000)["utilisation"] == 1.0


def test_lost_and_dropped_are_told_apart() -> None:
    lossy, full = link(loss=1.0), link(queue_us=5_000)
    for path in (lossy, full):
        for _ in range(3):
            path.offer(1000, now_us=0)
    lost, dropped = LinkMeter(lossy).summary(30_000), LinkMeter(full).summary(30_000)
    assert (lost["packets_offered"], lost["packets_lost"], lost["packets_dropped"]) == (3, 3, 0)
    assert (dropped["packets_lost"], dropped["packets_dropped"]) == (0, 2)


def test_live_figures_are_of_what_happened_since_the_last() -> None:
    path = link()
    meter = LinkMeter(path)
    for _ in range(2):
        path.offer(1000, now_us=0)
    first = meter.live(40_000)
    path.offer(1000, now_us=40_000)
    second = meter.live(50_000)
    third = meter.live(60_000)
    assert (first["queue_delay_ms"]["p95"], first["utilisation"]) == (10.0, 0.5)
    assert (second["queue_delay_ms"]["p95"], second["utilisation"]) == (0.0, 1.0)
    assert (third["queue_delay_ms"]["p95"], third["utilisation"]) == (None, 0.0)
    assert third["packets_offered"] == 3
