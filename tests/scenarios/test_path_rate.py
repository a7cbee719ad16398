"""What the path's rate comes to on links that change, that others share, and that lose at random."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from codecpilot.rtc.simulation.rates import RateRow, rate_rows
from codecpilot.rtc.simulation.run import Run, simulate
from codecpilot.rtc.simulation.scenario import scenario
from codecpilot.rtc.simulation.summary import run_figures
from codecpilot.samples.simulate.pictures import Sources
from codecpilot.samples.simulate.tools import make_tools

pytestmark = pytest.mark.slow

# One direction carries the test, the other feedback and a little video.
DEFAULTS = {
    "delay_ms": 25,
    "queue_ms": 300,
    "preset": "ultralow",
    "psnr": False,
    "b": {"size": "64x64", "fps": 10, "target_kbps": 20},
}


def run(**values: object) -> Run:
    checked = scenario(
        {**DEFAULTS, **values},
        read_text=lambda path: Path(path).read_text(),
        default_bps=lambda size, fps: 400_000,
    )
    return simulate(checked, make_tools(checked, sources=Sources(checked.peers)))


def between(made: Run, from_s: float, to_s: float, *, direction: str = "a->b") -> list[RateRow]:
    rows = rate_rows(made, made.directions[direction])
    return [row for row in rows if from_s * 1e6 <= row.time_us < to_s * 1e6]


def mean(rows: list[RateRow], name: str) -> float:
    return sum(getattr(row, name) for row in rows) / len(rows)


def test_a_rate_that_falls_to_a_quarter_and_returns():
    made = run(seconds=40, rate="0:600,10:150,25:600", a={"target_kbps": 700})
    # The queue is short again 1.5 s after the drop, and stays so: one packet takes up to 64 ms.
    assert mean(between(made, 11.4, 11.7), "queue_ms") <= 50
    assert mean(between(made, 11.5, 25), "queue_ms") <= 40
    assert max(row.queue_ms for row in between(made, 11.5, 25)) <= 100
    figures = run_figures(made, wall_s=1)["directions"]["a->b"]
    assert 0 <= figures["queue_loss_ratio"] <= 0.01
    assert 0.9 * 600 <= mean(between(made, 31, 34), "arrived_kbps") <= 606


def test_a_call_takes_up_a_fast_link_within_three_seconds():
    made = run(seconds=6, rate=2000, size="640x360", a={"target_kbps": 1500})
    # 1500 kbps of frames are some 1560 on the wire.
    assert 0.8 * 1500 <= mean(between(made, 3, 4), "sent_kbps") <= 1700


def test_a_link_of_100_kbps_carries_a_call():
    made = run(seconds=40, rate=100, delay_ms=50)
    figures = run_figures(made, wall_s=1)["directions"]["a->b"]
    assert 0 <= figures["freeze_s"] < 1
    assert 70 <= mean(between(made, 5, 40), "arrived_kbps") <= 100
    assert mean(between(made, 5, 40), "queue_ms") <= 60


def test_two_calls_share_a_link_fairly():
    made = run(seconds=40, rate=1000, calls=2, calls_start_s=5, a={"target_kbps": 1000})
    link = run_figures(made, wall_s=1)["links"]["ab"]
    assert 0.95 <= link["fairness"] <= 1
    assert 0.8 <= link["utilisation"] <= 1


def test_a_long_tcp_like_flow_leaves_a_call_its_part():
    made = run(seconds=60, rate=1000, ab={"cross": "0:0,10:1"}, a={"target_kbps": 1000})
    link = run_figures(made, wall_s=1)["links"]["ab"]
    assert 0.2 <= link["cross_share"] <= 0.7


def test_loss_that_is_no_congestion_leaves_the_rate_up():
    made = run(seconds=40, rate=600, ab={"loss": 0.1}, a={"target_kbps": 700})
    assert 0.7 * 600 <= mean(between(made, 10, 40), "sent_kbps") <= 620


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each recorded link's figures, ours and plain GCC's."""
    traces = sorted((shared / "traces").iterdir())
    return [(_recorded(trace, "codecpilot"), _recorded(trace, "gcc")) for trace in traces]


def _recorded(trace: Path, cc: str) -> dict[str, Any]:
    link = {"ab": {"trace": str(trace)}, "delay_ms": 30, "queue_ms": 500}
    made = run(cc=cc, seconds=120, a={"target_kbps": 800}, **link)
    figures = run_figures(made, wall_s=1)
    return {**figures["directions"]["a->b"], "outage_s": figures["links"]["ab"]["outage_s"]}


@pytest.mark.timeout(900)
def test_recorded_cellular_links_against_plain_gcc(recorded):
    # Their pauses alone hold a twentieth of all packets for 17 to 380 ms, whatever is sent, and freeze the
    # picture for about as long as either policy does: docs/evaluation.md sets them beside these figures.
    ratios = [o["queue_delay_ms"]["p95"] / p["queue_delay_ms"]["p95"] for o, p in recorded]
    for ours, plain in recorded:
        assert ours["utilisation_of_need"] >= 1.1 * plain["utilisation_of_need"]
        assert ours["queue_loss_ratio"] <= 0.8 * plain["queue_loss_ratio"]
        assert ours["freeze_s"] <= ours["outage_s"] + 5
    assert 0.75 <= sum(ours["utilisation_of_need"] for ours, _ in recorded) / len(recorded) <= 1
    assert max(ratios) <= 1.5
    assert math.prod(ratios) ** (1 / len(ratios)) <= 0.9


@pytest.mark.timeout(900)
@pytest.mark.xfail(reason="pauses of the links bound both: see docs/evaluation.md, recorded links")
def test_recorded_cellular_links_at_half_of_plain_gccs_queue_and_freezes(recorded):
    used = [ours["utilisation_of_need"] for ours, _ in recorded]
    assert 0.85 <= sum(used) / len(used) <= 1
    for ours, plain in recorded:
        assert ours["utilisation_of_need"] >= 0.98 * plain["utilisation_of_need"]
        assert ours["queue_delay_ms"]["p95"] <= 0.5 * plain["queue_delay_ms"]["p95"]
        assert ours["freeze_s"] <= 0.5 * plain["freeze_s"]
