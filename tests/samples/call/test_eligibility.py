"""Calls that begin as a model promises: scored here, told there, shown, and refused where the model is none."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from codecpilot.eligibility.fleet.simulate import FleetRequest, simulate_fleet
from codecpilot.eligibility.models import registry
from codecpilot.eligibility.models.calls import GIB, read_calls
from codecpilot.eligibility.models.trained import train
from codecpilot.eligibility.policy import STEPS
from codecpilot.eligibility.store import Store
from codecpilot.samples.call import eligibility
from codecpilot.samples.call.report import print_report
from codecpilot.samples.cli import main

from tests.samples.call.test_call import TIMEOUT_S, running_call
from tests.samples.call.test_report import directions
from tests.samples.test_readme import EXAMPLES


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small one, without what training alone needs."""
    folder = Path(tmp_path_factory.mktemp("model"))
    store = Store(folder / "store")
    for table in simulate_fleet(FleetRequest(devices=60, calls=600, seed=3)):
        store.append(table)
    trained = train(read_calls(store.connect()), version="heuristic", data_digest=store.digest())
    registry.save(trained, folder / "rules")
    (folder / "rules" / registry.ESTIMATOR).unlink()
    return folder / "rules"


def this_device(monkeypatch: pytest.MonkeyPatch, *, brand: str | None, name: str) -> None:
    columns = {"device_brand": brand, "device_model": name, "soc": None, "cores": 4}
    columns |= {"memory_bytes": 4 * GIB, "os": "linux", "os_version": "6.1", "release_year": None}
    monkeypatch.setattr(eligibility, "device_columns", lambda: columns)


def test_a_device_that_the_model_knows_is_not_probed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = eligibility.load_model(str(model))
    brand, _, name = loaded.names[0].partition(" ")
    this_device(monkeypatch, brand=brand, name=name)
    monkeypatch.setattr(eligibility, "probe_slowness", lambda: pytest.fail("it was probed"))
    start = eligibility.score_this_side(loaded)
    assert (start.probe, start.score.evidence, start.simulated) == (None, "calls", True)


def test_another_device_is_probed_and_both_scores_and_the_plan_are_told(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_device(monkeypatch, brand=None, name="Nobody's")
    monkeypatch.setattr(eligibility, "probe_slowness", lambda: 2.5)
    a, b = (eligibility.score_this_side(eligibility.load_model(str(model))) for _ in range(2))
    assert a.figures() is None
    plan = a.policy.start(peer_score=b.policy.rtc_score, peer_text=b.policy.device_text)
    told = a.figures()
    assert told is not None
    assert (told["codec"], told["preset"], told["why"]) == (plan.codec, plan.preset, plan.why)
    assert told["sender"]["evidence"] == "probe"
    assert told["sender"]["probe"] == 2.5
    assert told["receiver"] == {"rtc_score": told["sender"]["rtc_score"], "tier": "high"}
    json.dumps(told)


def test_a_call_begins_as_both_sides_plan_and_says_so(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    args = ["--headless", "--seconds", "1", "--json", str(out), "--adaptation", "on"]
    args += ["--eligibility", str(model)]
    with running_call(*args) as process:
        output, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (0, "")
    assert "SIMULATED" in output
    report = json.loads(out.read_text())
    for direction in report["directions"]:
        start = direction["start"]
        assert start["codec"] in {step.codec for step in STEPS}
        assert 0 <= start["sender"]["low"] <= start["sender"]["rtc_score"]
        assert 0.01 < start["sender"]["probe"] < 1000
        assert start["receiver"]["tier"] in ("low", "high")
    first, second = (d["start"] for d in report["directions"])
    assert first["receiver"]["rtc_score"] == second["sender"]["rtc_score"]


def test_the_table_has_scores_and_start_where_there_are_some() -> None:
    sides: dict[str, Any] = {"rtc_score": 0.912, "tier": "high"}
    plan = {"codec": "AV1", "preset": "low", "max_size": [960, 540], "max_fps": 30, "why": "so"}
    figures = [
        {**d, "start": {**plan, "sender": sides, "receiver": other, "simulated": False}}
        for d, other in zip(directions(), (sides, None), strict=True)
    ]
    out = io.StringIO()
    report = {"seconds": 1, "directions": figures, "recordings": []}
    print_report(report, console=Console(file=out, width=140))
    assert "0.91 high / 0.91 high" in out.getvalue()
    assert "0.91 high / –" in out.getvalue()
    assert "AV1 low, up to 960x540 at 30" in out.getvalue()
    assert "SIMULATED" not in out.getvalue()


def test_a_model_that_is_none_ends_the_command_before_the_call(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tampered, poisoned = tmp_path / "tampered", tmp_path / "poisoned"
    for folder in (tampered, poisoned):
        folder.mkdir()
        for name in (registry.CARD, registry.CLIENT):
            (folder / name).write_bytes((model / name).read_bytes())
    np.savez(tampered / registry.CLIENT, card=np.array("{}"))
    (poisoned / registry.CARD).write_bytes(pickle.dumps({"version": "v2"}))
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(1))
    for bad, words in (
        (tampered, "is not the file that card.json was written for"),
        (poisoned, "is not a model's card"),
        (tmp_path / "model.pkl", "is a file; a model is a folder"),
        (tmp_path / "nowhere", "is not a model"),
    ):
        assert main(["call", "--headless", "--seconds", "1", "--eligibility", str(bad)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert words in line


def test_a_call_that_does_not_adapt_cannot_begin_by_scores(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["call", "--headless", "--eligibility", str(model), "--adaptation", "off"]) == 2
    assert "--adaptation is off" in capsys.readouterr().err


def test_a_score_by_hand_and_one_by_a_model_exclude_each_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["call", "--eligibility", "models/v2", "--rtc-score", "0.5"])
    assert ended.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_the_readmes_example_makes_a_connection(model: Path) -> None:
    (code,) = [example for example in EXAMPLES if "CallPolicy(" in example]
    names: dict[str, Any] = {}
    exec(code.replace('"models/v2"', repr(str(model))), names)
    assert names["pc"].settings.told_score == names["policy"].rtc_score


def test_scoring_needs_neither_scikit_learn_nor_the_extra(model: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('sklearn', 'scipy', 'skops', 'duckdb', 'ibis', 'pandas', 'pyarrow'):\n"
        "    sys.modules[name] = None\n"
        "from codecpilot.samples.call.eligibility import load_model, score_this_side\n"
        f"print(score_this_side(load_model({str(model)!r})).score.evidence)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stderr, run.stdout) == ("", "probe\n")
