"""The four ways in which a simulated sender finds its rate, on a link that gets narrow."""

from __future__ import annotations

import pytest

from codecpilot.rtc.rtp.extensions import TRANSPORT_CC
from codecpilot.rtc.simulation.party import agree
from codecpilot.rtc.simulation.rates import rate_rows
from codecpilot.rtc.simulation.records import PacketKind
from codecpilot.rtc.simulation.scenario import scenario
from codecpilot.rtc.simulation.summary import run_figures

from tests.rtc.simulation.test_run import run, traces

NARROWS = {"ab__rate": "0:1000,5:150", "rate": 1000, "delay_ms": 50}
SENDER_SIDE = ["codecpilot", "gcc"]


def agreement(**values: object):
    read = {"read_text": lambda path: "", "default_bps": lambda size, fps: 300_000}
    return agree(scenario(dict(values), **read), sender="a")


@pytest.mark.parametrize("cc", SENDER_SIDE)
def test_a_sender_side_estimate_follows_the_link_and_the_encoder_follows_it(cc):
    made = run(15, cc=cc, **NARROWS)
    direction = made.directions["a->b"]
    rows = rate_rows(made, direction)
    assert all(row.estimate_kbps is not None for row in rows)
    settled = rows[110:]
    assert all(30 <= row.target_kbps <= 180 for row in settled)
    assert all(row.target_kbps <= (row.estimate_kbps or 0) for row in settled)
    assert sum(row.queue_ms for row in settled) / len(settled) <= 150
    # A fixed rate fills the queue of 300 ms and one packet instead.
    fixed = run(15, cc="none", fec="off", **NARROWS)
    rows = rate_rows(fixed, fixed.directions["a->b"])
    assert all(row.estimate_kbps is None for row in rows)
    assert {row.target_kbps for row in rows} == {300}
    assert 200 <= sum(row.queue_ms for row in rows[110:]) / len(settled) <= 370


@pytest.mark.parametrize(("cc", "is_there"), [("gcc", True), ("remb", False), ("none", False)])
def test_feedback_returns_only_to_those_who_use_it(cc, is_there):
    made = run(3, cc=cc)
    reports = [p for p in made.directions["b->a"].recorder.packets if p.kind is PacketKind.RTCP]
    # Reports, one a second or so each way, and feedback of 50 to 250 ms.
    assert (len(reports) >= 12) == is_there
    assert len(reports) <= 70


def test_each_direction_agrees_on_what_its_sender_wants():
    both = agreement(cc="gcc", b={"cc": "remb"})
    assert TRANSPORT_CC in both.extensions
    assert (both.cc, agreement(cc="remb").cc) == ("gcc", "remb")
    assert TRANSPORT_CC not in agreement(cc="remb").extensions
    stock = agreement(cc="gcc", b={"stack": "aiortc"})
    assert stock.cc == "remb"
    assert TRANSPORT_CC not in stock.extensions


def test_padding_is_what_the_path_says_it_sent():
    made = run(10, cc="gcc", rate=5000, target_kbps=2000)
    direction = made.directions["a->b"]
    path = direction.parts.sender.path.counters
    padding = [p for p in direction.recorder.packets if p.kind is PacketKind.PADDING]
    assert len(padding) == path.paddingPacketsSent > 0
    figures = run_figures(made, wall_s=1.0)["directions"]["a->b"]
    assert 0 < figures["padding_bytes"] <= path.paddingBytesSent
    assert figures["retransmitted_bytes"] == 0


@pytest.mark.parametrize("cc", SENDER_SIDE)
def test_the_same_seed_gives_the_same_run(cc):
    settings = {"cc": cc, "loss": 0.02, "jitter_ms": 3, "ab__cross": "0:0,1:1", **NARROWS}
    assert traces(run(4, **settings)) == traces(run(4, **settings))
