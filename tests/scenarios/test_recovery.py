"""Surviving loss: all means together against retransmission, and against key frames alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codecpilot.rtc.simulation.run import simulate
from codecpilot.rtc.simulation.scenario import scenario
from codecpilot.rtc.simulation.summary import direction_figures
from codecpilot.samples.call.options import default_bitrate_bps
from codecpilot.samples.simulate.pictures import Sources
from codecpilot.samples.simulate.tools import make_tools

from tests.scenarios.step_list import Step, run_steps

Figures = dict[str, Any]

RECOVERIES = ("codecpilot", "nack", "key")
SEEDS = (1, 2, 3, 4, 5)


@pytest.mark.parametrize("rtt_ms", [160, 300])
def test_loss_costs_no_key_frame_and_less_of_the_call_than_retransmission(rtt_ms):
    made = {
        recovery: run_steps(
            [Step(8, {})],
            recovery=recovery,
            loss=0.05,
            delay_ms=rtt_ms / 2,
            **{"a.preset": "ultralow", "psnr": False},
        )
        for recovery in ("codecpilot", "nack")
    }
    ours, repaired = (
        direction_figures(run.directions["a->b"], duration_us=8_000_000) for run in made.values()
    )
    assert ours["key_frames"] == 1
    assert 1 <= ours["ltrp_frames"] <= 130
    assert ours["plis"] == 0
    assert repaired["freeze_s"] > 0.3
    assert ours["freeze_s"] < repaired["freeze_s"]
    assert ours["recovery_ms"]["p50"] <= rtt_ms + 120
    assert 80 <= ours["kbps"] <= 210


@pytest.mark.slow
@pytest.mark.parametrize("clip", ["webcam_512x480.mp4", "foreman_352x288.264"])
@pytest.mark.parametrize(
    ("rtt_ms", "of_key", "of_nack"), [(100, 1 / 5, 1 / 2), (300, 1 / 3, 1 / 3)]
)
@pytest.mark.parametrize("burst", [1, 4])
def test_five_percent_lost_freezes_little(shared, clip, burst, rtt_ms, of_key, of_nack):
    source = shared / "clips" / clip
    seen = {
        recovery: [
            call(source, seed=seed, burst=burst, delay_ms=rtt_ms / 2, recovery=recovery)
            for seed in SEEDS
        ]
        for recovery in RECOVERIES
    }
    ours, repaired, keyed = seen.values()
    assert sum(one["key_frames"] == 1 for one in ours) >= len(SEEDS) - 1
    assert mean(ours, "psnr_y_shown") > mean(keyed, "psnr_y_shown")
    assert mean(ours, "freeze_s") <= of_key * mean(keyed, "freeze_s")
    assert mean(ours, "freeze_s") <= of_nack * mean(repaired, "freeze_s")
    assert mean(ours, "e2e_ms", "p95") <= 0.75 * mean(repaired, "e2e_ms", "p95")
    assert 0 < mean(ours, "recovery_ms", "p50") <= rtt_ms + 60


@pytest.mark.slow
@pytest.mark.parametrize("clip", ["webcam_512x480.mp4", "foreman_352x288.264"])
def test_without_loss_it_is_as_good_as_with_everything_off(shared, clip):
    source = shared / "clips" / clip
    ours, plain = (call(source, seed=1, loss=0, recovery=name) for name in ("codecpilot", "key"))
    assert ours["psnr_y_shown"] == pytest.approx(plain["psnr_y_shown"], abs=0.1)
    assert ours["kbps"] == pytest.approx(plain["kbps"], rel=0.01)
    assert ours["freeze_s"] == plain["freeze_s"] == 0


def call(source: Path, **changes: object) -> Figures:
    """A minute of a clip at 800 kbps, a tenth of the other way's cost; figures of a's pictures."""
    values = {
        "source": str(source),
        "seconds": 60,
        "rate": 800,
        "delay_ms": 50,
        "loss": 0.05,
        "preset": "ultralow",
        "b": {"size": "64x64", "fps": 10, "target_kbps": 20},
    }
    checked = scenario(
        values | changes,
        read_text=lambda path: "",
        default_bps=lambda size, fps: default_bitrate_bps(width=size[0], height=size[1], fps=fps),
    )
    run = simulate(checked, make_tools(checked, sources=Sources(checked.peers)))
    return direction_figures(run.directions["a->b"], duration_us=checked.duration_us)


def mean(figures: list[Figures], name: str, percentile: str | None = None) -> float:
    values = [one[name] if percentile is None else one[name][percentile] for one in figures]
    return sum(values) / len(values)
