"""What the simulator says, checked by a live call over the same link.

docs/evaluation.md gives the reasons for the tolerances.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codecpilot.samples.cli import main

pytestmark = pytest.mark.slow

SECONDS = 30
KBPS_RATIO = 0.10
SHOWN_RATIO = 0.03
FREEZE_SHARE = 0.06


# Encoding that took more wall time than this for its CPU time had to wait for other processes.
BUSY_RATIO = 2


@pytest.mark.timeout(600)
def test_live_and_simulated_calls_agree_on_what_a_viewer_sees(tmp_path: Path) -> None:
    report = held(tmp_path / "first.json")
    if is_busy(report):
        report = held(tmp_path / "second.json")
    if is_busy(report):
        pytest.skip("the machine is busy with other things, which no simulation knows of")
    pairs = list(zip(report["directions"], report["simulated"], strict=True))
    assert len(pairs) == 2
    for live, simulated in pairs:
        assert live["kbps"] == pytest.approx(simulated["kbps"], rel=KBPS_RATIO)
        assert abs(live["shown"] - simulated["shown"]) <= SHOWN_RATIO * live["captured"]
        lost = [figures["link"]["packets_lost"] for figures in (live, simulated)]
        assert all(35 <= packets <= 110 for packets in lost)
    frozen_s = [
        sum(figures["freeze_s"] for figures in side) / 2 for side in zip(*pairs, strict=True)
    ]
    assert abs(frozen_s[0] - frozen_s[1]) <= FREEZE_SHARE * SECONDS


def held(out: Path) -> dict[str, Any]:
    link = ["--rate", "600", "--delay", "50", "--loss", "0.02", "--seed", "1"]
    what = ["--headless", "--seconds", str(SECONDS), "--simulated", "--json", str(out)]
    # The simulated device has no other load to adapt to.
    assert main(["call", *what, *link, "--adaptation", "off"]) == 0
    return json.loads(out.read_text())


def is_busy(report: dict[str, Any]) -> bool:
    return any(
        live["encode_ms"]["p95"] > BUSY_RATIO * live["encode_cpu_ms"]["p95"]
        for live in report["directions"]
    )
