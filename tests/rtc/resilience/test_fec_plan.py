from __future__ import annotations

import pytest

from codecpilot.rtc.resilience.fec_plan import NO_FEC, FecPlan, fec_plan
from codecpilot.rtc.resilience.loss_monitor import Loss
from codecpilot.rtc.resilience.settings import Switch


def plan(ratio: float, *, rtt_ms: int = 100, burst: float = 1.0, before=NO_FEC, switch=Switch.AUTO):
    loss = Loss(recent_ratio=ratio, lasting_ratio=ratio, burst_packets=burst)
    return fec_plan(loss, before=before, rtt_us=rtt_ms * 1000, switch=switch)


def test_there_is_none_where_little_is_lost_or_a_retransmission_is_quicker():
    assert plan(0.015) == NO_FEC
    assert plan(0.05, rtt_ms=70) == NO_FEC
    assert plan(0.05, rtt_ms=71).percent > 0


def test_it_goes_on_while_losses_are_only_a_little_rarer():
    on = plan(0.05)
    assert plan(0.012, before=on) == on
    assert plan(0.009, before=on) == NO_FEC


def test_more_loss_has_more_of_it():
    percents = [plan(ratio).percent for ratio in (0.03, 0.07, 0.1, 0.2, 1.0)]
    assert percents == sorted(percents)
    assert percents[0] == 20
    assert percents[-1] == 50


@pytest.mark.parametrize(
    ("rtt_ms", "burst", "frames"), [(100, 1.0, 1), (300, 1.0, 1), (100, 4.0, 2), (300, 4.0, 3)]
)
def test_bursts_are_spread_over_frames_as_long_as_the_path_gives_time(rtt_ms, burst, frames):
    found = plan(0.05, rtt_ms=rtt_ms, burst=burst)
    assert found.frames == frames
    assert found.least == round(burst)


def test_switches_hold_whatever_the_loss():
    assert plan(0.5, switch=Switch.OFF) == NO_FEC
    assert plan(0.0, rtt_ms=10, switch=Switch.ON) == FecPlan(percent=20)
