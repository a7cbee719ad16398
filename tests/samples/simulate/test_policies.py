"""Policies over recorded links, in one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codecpilot.samples.cli import main
from codecpilot.samples.simulate.policy_table import policy_rows

SMALL = ["--size", "96x64", "--seconds", "2", "--rate", "300", "--vmaf-every", "0"]


def finished(**changes: Any) -> dict[str, Any]:
    values = {
        "utilisation_of_need": 0.8,
        "queue_delay_ms": {"p50": 10, "p95": 50},
        "queue_loss_ratio": 0.01,
        "freeze_s": 2.0,
        "psnr_y_shown": 35.0,
        "kbps": 400,
        "frames": {"shown": 50},
    }
    return {"directions": {"a->b": values | changes}, "links": {"ab": {"outage_s": 0.5}}}


def test_each_policy_stands_beside_plain_gcc_and_ends_in_its_mean() -> None:
    ours = finished(utilisation_of_need=0.9, queue_delay_ms={"p50": 5, "p95": 20}, freeze_s=1.0)
    cells = {
        (link, policy): each
        for link in ("one", "two")
        for policy, each in (("gcc", finished()), ("codecpilot", ours))
    }
    cells["two", "codecpilot"] = finished(utilisation_of_need=None, psnr_y_shown=None)
    rows = {(row["link"], row["policy"]): row for row in policy_rows(cells)}
    assert list(rows) == [*cells, ("mean", "gcc"), ("mean", "codecpilot")]
    assert rows["one", "codecpilot"]["queue_p95_ratio"] == 0.4
    assert rows["one", "codecpilot"]["utilisation_ratio"] == 1.125
    assert rows["one", "gcc"]["queue_p95_ratio"] == 1
    assert rows["two", "codecpilot"]["utilisation_ratio"] is None
    mean = rows["mean", "codecpilot"]
    assert (mean["freeze_s"], mean["queue_p95_ms"], mean["utilisation"]) == (1.5, 35, 0.9)
    assert mean["outage_s"] == 0.5


def test_without_plain_gcc_or_with_one_link_there_is_nothing_to_divide_or_average() -> None:
    (row,) = policy_rows({("link", "remb"): finished()})
    assert row["utilisation_ratio"] is row["queue_p95_ratio"] is None
    assert (row["link"], row["queue_p95_ms"]) == ("link", 50)


def test_who_shows_nothing_is_not_called_free_of_freezes() -> None:
    (row,) = policy_rows({("link", "remb"): finished(freeze_s=0, frames={"shown": 0})})
    assert row["freeze_s"] is None


def test_every_policy_runs_over_every_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = [tmp_path / "slow.down", tmp_path / "fast.down"]
    for path, gap_ms in zip(traces, (100, 20), strict=True):
        path.write_text("".join(f"{t}\n" for t in range(gap_ms, 1001, gap_ms)))
    out = tmp_path / "out"
    args = ["--policies", "gcc,none", "--traces", *map(str, traces), "--set", "target_kbps=200"]
    assert main(["simulate", *SMALL, *args, "--out", str(out)]) == 0
    rows = json.loads((out / "policies.json").read_text())["rows"]
    cells = [(row["link"], row["policy"]) for row in rows]
    links = ["slow.down", "fast.down", "mean"]
    assert cells == [(link, policy) for link in links for policy in ("gcc", "none")]
    for row in rows[:4]:
        folder = out / row["link"] / row["policy"]
        summary = json.loads((folder / "summary.json").read_text())
        sent = summary["directions"]["a->b"]
        assert (row["kbps"], row["freeze_s"]) == (sent["kbps"], sent["freeze_s"])
        # The other direction has the link of the options.
        assert summary["directions"]["b->a"]["queue_delay_ms"]["p95"] <= 60
    slow, fast = rows[1], rows[3]
    assert fast["queue_p95_ms"] <= 40
    # 200 kbps do not fit into 120; the queue holds 300 ms, and opens every 100 ms.
    assert 200 <= slow["queue_p95_ms"] <= 410
    assert "slow.down" in capsys.readouterr().out


def test_two_at_a_time_write_what_one_writes(tmp_path: Path) -> None:
    made = []
    for workers in ("1", "2"):
        out = tmp_path / workers
        args = ["--policies", "gcc,aiortc", "--workers", workers, "--out", str(out)]
        assert main(["simulate", *SMALL, "--loss", "0.02", *args]) == 0
        names = [f"{policy}/{name}" for policy in ("gcc", "aiortc") for name in ("packets.csv",)]
        made.append([(out / name).read_bytes() for name in [*names, "policies.json"]])
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (
            ["--policies", "gcc,vegas"],
            "each once of codecpilot, gcc, remb, none, nack, key, aiortc",
        ),
        (["--policies", "gcc,gcc"], "each once of"),
        (["--policies", "gcc", "--workers", "3"], "--workers 3 is outside 1..2"),
        (["--policies", "gcc", "--traces", "/nowhere"], "/nowhere: No such file"),
        (["--policies", "gcc", "--compare", "a", "b"], "exclude each other"),
        (["--traces", "/nowhere"], "--traces needs --policies"),
        (["--losses", "5"], "--losses needs --ablation"),
        (["--policies", "gcc", "--stacks", "nack"], "--stacks needs --ablation"),
        (["--set", "cc=vegas"], "cc 'vegas' is none of codecpilot, gcc, remb, none"),
        (["--set", "cross=0:0.5"], "ab: cross 1/2 is not a whole number"),
        (["--set", "cross=0:99"], "cross 99 is outside 0..16"),
        (["--set", "calls=5"], "calls 5 is outside 1..4"),
        (["--set", "calls=2", "--set", "calls_start_s=30"], "calls_start_s 30 is not below"),
    ],
)
def test_a_wrong_request_is_one_line(
    args: list[str], names: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *args, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert names in error


def test_a_run_that_fails_names_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "out"
    blocked.mkdir()
    (blocked / "none").write_text("in the way")
    args = ["simulate", *SMALL, "--policies", "none", "--out", str(blocked)]
    assert main(args) == 2
    assert "none" in capsys.readouterr().err
