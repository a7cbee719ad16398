from __future__ import annotations

from dataclasses import replace

import pytest

from codecpilot.rtc.resilience.decisions import Action, Reason
from codecpilot.rtc.resilience.loss_monitor import Loss
from codecpilot.rtc.resilience.policy import (
    LAYERS_KEEP_US,
    LOSSY_US,
    LTR_INTERVAL_US,
    PIN_INTERVAL_US,
    ResiliencePolicy,
    Situation,
)
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch

NOW_US = 50_000_000
CALM = Situation(
    now_us=NOW_US,
    rtt_us=100_000,
    loss=Loss(),
    key=None,
    recovery=None,
    damage=0,
    ltr_age_us=300_000,
    pinned_us=NOW_US - 300_000,
    finer_us=NOW_US - 300_000,
    recovered_us=None,
    has_references=True,
    may_be_upper=True,
)


def policy(**switches: Switch) -> ResiliencePolicy:
    return ResiliencePolicy(ResilienceSettings(**switches))


def observe(policy: ResiliencePolicy, ratio: float, *, now_us: int = NOW_US, burst: float = 1.0):
    loss = Loss(recent_ratio=ratio, lasting_ratio=ratio, burst_packets=burst)
    return policy.observe(loss, rtt_us=100_000, can_layer=True, can_fec=True, now_us=now_us)


def plan(policy: ResiliencePolicy, **changes):
    return policy.picture(replace(CALM, **changes))


def test_without_loss_a_finer_reference_a_second_and_nothing_else():
    calm = policy()
    assert observe(calm, 0.0) == []
    assert plan(calm) == plan(calm, may_be_upper=False)
    assert not any((plan(calm).ltr, plan(calm).from_ltr, plan(calm).temporal_id, plan(calm).key))
    due = plan(calm, finer_us=NOW_US - LTR_INTERVAL_US)
    assert (due.ltr, due.finer) == (True, True)


def test_layers_begin_at_two_percent_and_end_ten_seconds_after_loss():
    lossy = policy()
    assert observe(lossy, 0.019) == []
    decisions = observe(lossy, 0.02)
    assert [(d.action, d.value) for d in decisions] == [(Action.LAYERS, 2), (Action.FEC, 20)]
    assert plan(lossy).temporal_id == 1
    assert plan(lossy, may_be_upper=False).temporal_id == 0
    observe(lossy, 0.0, now_us=NOW_US + 1)
    assert lossy.has_layers
    observe(lossy, 0.015, now_us=NOW_US + LAYERS_KEEP_US)
    observe(lossy, 0.0, now_us=NOW_US + LAYERS_KEEP_US + 1)
    assert observe(lossy, 0.0, now_us=NOW_US + 2 * LAYERS_KEEP_US) == []
    (off,) = observe(lossy, 0.0, now_us=NOW_US + 2 * LAYERS_KEEP_US + 1)
    assert (off.action, off.value, off.reason) == (Action.LAYERS, 1, Reason.LOSS_GONE)


@pytest.mark.parametrize(
    ("rtt_ms", "damage", "reason"),
    [(59, 1, None), (60, 1, Reason.LOSS), (20, 2, Reason.BURST), (300, 5, Reason.BURST)],
)
def test_damage_is_answered_where_a_retransmission_is_slow_or_large(rtt_ms, damage, reason):
    found = plan(policy(), rtt_us=rtt_ms * 1000, damage=damage)
    assert found.reason is reason
    assert found.from_ltr is (reason is not None)
    assert found.temporal_id == 0


def test_one_recovery_frame_a_round_trip():
    lossy = policy()
    assert not plan(lossy, damage=1, recovered_us=NOW_US - 99_999).from_ltr
    assert plan(lossy, damage=1, recovered_us=NOW_US - 100_000).from_ltr


def test_damage_alone_never_makes_a_key_frame():
    lossy = policy()
    assert not plan(lossy, damage=9, ltr_age_us=None).key
    assert not plan(lossy, damage=9, has_references=False, ltr_age_us=None).key


@pytest.mark.parametrize("reason", [Reason.RPSI, Reason.EXPIRED])
def test_what_was_asked_for_is_a_key_frame_where_no_reference_is_held(reason):
    found = plan(policy(), recovery=reason, ltr_age_us=None)
    assert (found.key, found.from_ltr, found.reason) == (True, False, reason)
    found = plan(policy(), recovery=reason)
    assert (found.key, found.from_ltr, found.reason) == (False, True, reason)


def test_references_are_pinned_often_while_loss_is_fresh():
    lossy = policy()
    observe(lossy, 0.01, now_us=NOW_US)
    assert not plan(lossy, pinned_us=NOW_US - PIN_INTERVAL_US + 1).ltr
    due = plan(lossy, pinned_us=NOW_US - PIN_INTERVAL_US)
    assert (due.ltr, due.finer) == (True, False)
    # Three of four pins turn over: each acknowledgement has to come within three intervals.
    assert not plan(lossy, rtt_us=300_000, pinned_us=NOW_US - 139_999).ltr
    assert plan(lossy, rtt_us=300_000, pinned_us=NOW_US - 140_000).ltr
    assert not plan(lossy, has_references=False, pinned_us=None).ltr
    late_us = NOW_US + LOSSY_US
    calm = {"now_us": late_us, "finer_us": late_us, "pinned_us": NOW_US}
    assert not plan(lossy, **calm).ltr


def proactive(
    found: ResiliencePolicy, *, ratio: float, rtt_ms: int = 300, after_us: int | None = None
):
    return plan(
        found,
        loss=Loss(recent_ratio=ratio, lasting_ratio=ratio),
        rtt_us=rtt_ms * 1000,
        recovered_us=None if after_us is None else NOW_US - after_us,
    ).reason


def test_recovery_frames_come_before_a_loss_is_known_where_it_is_likely_and_an_answer_slow():
    assert proactive(policy(), ratio=0.02) is Reason.PROACTIVE
    assert proactive(policy(), ratio=0.019) is None
    assert proactive(policy(), ratio=0.02, rtt_ms=79) is None
    assert proactive(policy(ltr_proactive=Switch.OFF), ratio=0.02) is None
    assert proactive(policy(ltr_proactive=Switch.ON), ratio=0.0, rtt_ms=10) is Reason.PROACTIVE


@pytest.mark.parametrize(
    ("ratio", "rtt_ms", "spacing_us"),
    [(0.025, 300, 150_000), (0.05, 300, 75_000), (0.2, 300, 50_000), (0.05, 100, 50_000)],
)
def test_they_are_spaced_by_loss_and_round_trip(ratio, rtt_ms, spacing_us):
    early = proactive(policy(), ratio=ratio, rtt_ms=rtt_ms, after_us=spacing_us - 1)
    due = proactive(policy(), ratio=ratio, rtt_ms=rtt_ms, after_us=spacing_us)
    assert (early, due) == (None, Reason.PROACTIVE)


def test_each_means_can_be_switched_for_good():
    off = policy(temporal_layers=Switch.OFF, fec=Switch.OFF)
    assert observe(off, 0.5) == []
    on = policy(temporal_layers=Switch.ON, fec=Switch.ON)
    decisions = observe(on, 0.0)
    assert [(d.action, d.reason) for d in decisions] == [
        (Action.LAYERS, Reason.SETTING),
        (Action.FEC, Reason.SETTING),
    ]


def test_what_the_peer_does_not_take_is_not_used():
    lossy = policy()
    loss = Loss(recent_ratio=0.5, lasting_ratio=0.5)
    decisions = lossy.observe(loss, rtt_us=100_000, can_layer=False, can_fec=False, now_us=NOW_US)
    assert decisions == []
