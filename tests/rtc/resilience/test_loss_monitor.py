from __future__ import annotations

import pytest

from codecpilot.rtc.resilience.loss_monitor import KEEP_US, REPORT_US, LossMonitor

RECENT_US = 2_000_000
GAP_US = 10_000


def packets(monitor: LossMonitor, fates: str, *, start_us: int = 0, number: int = 0) -> int:
    """One packet a character: x is lost. The time behind the last one."""
    now_us = start_us
    for index, fate in enumerate(fates):
        if fate == "x":
            monitor.lost(number + index, now_us=now_us)
        else:
            monitor.arrived(was_missing=False, now_us=now_us)
        now_us += GAP_US
    return now_us


def test_nothing_known_is_no_loss():
    loss = LossMonitor().loss(now_us=0, recent_us=RECENT_US)
    assert (loss.ratio, loss.burst_packets) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("fates", "ratio", "burst"),
    [(("." * 19 + "x") * 10, 0.05, 1.0), (("." * 76 + "xxxx") * 4, 0.05, 4.0), ("." * 100, 0, 1)],
)
def test_ratio_and_mean_burst_are_those_of_the_packets(fates, ratio, burst):
    monitor = LossMonitor()
    now_us = packets(monitor, fates)
    loss = monitor.loss(now_us=now_us, recent_us=RECENT_US)
    assert loss.lasting_ratio == pytest.approx(ratio, abs=1e-9)
    assert loss.burst_packets == pytest.approx(burst, abs=1e-9)


def test_recent_loss_is_forgotten_sooner_than_lasting_loss():
    monitor = LossMonitor()
    now_us = packets(monitor, "." * 90 + "x" * 10)
    now_us = packets(monitor, "." * 300, start_us=now_us, number=100)
    loss = monitor.loss(now_us=now_us, recent_us=RECENT_US)
    assert loss.recent_ratio == 0
    assert loss.lasting_ratio == loss.ratio == pytest.approx(10 / 400)
    assert monitor.loss(now_us=now_us + KEEP_US, recent_us=RECENT_US).ratio == 0


def test_a_packet_that_comes_after_all_was_not_lost():
    monitor = LossMonitor()
    now_us = packets(monitor, "..x.......")
    monitor.arrived(was_missing=True, now_us=now_us)
    assert monitor.loss(now_us=now_us, recent_us=RECENT_US).ratio == 0


def test_reports_count_where_no_packet_is_told_of_and_while_they_are_fresh():
    monitor = LossMonitor()
    monitor.reported(0.25, now_us=0)
    assert monitor.loss(now_us=REPORT_US, recent_us=RECENT_US).recent_ratio == 0.25
    assert monitor.loss(now_us=REPORT_US + 1, recent_us=RECENT_US).recent_ratio == 0
    packets(monitor, ".", start_us=REPORT_US)
    monitor.reported(0.25, now_us=REPORT_US)
    assert monitor.loss(now_us=REPORT_US, recent_us=RECENT_US).recent_ratio == 0
