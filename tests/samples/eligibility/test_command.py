"""`codecpilot eligibility`, as people run it, on a small simulated fleet."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from codecpilot.samples.cli import main
from codecpilot.samples.eligibility import scoring


def run(*words: object) -> int:
    return main(["eligibility", *map(str, words)])


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, another, and models of two versions."""
    folder = Path(tmp_path_factory.mktemp("work"))
    fleet = ("--devices", 250, "--calls", 2500)
    assert run("simulate-fleet", *fleet, "--seed", 2, "--store", folder / "fleet") == 0
    for version in ("heuristic", "v2"):
        out = folder / version
        assert run("train", "--store", folder / "fleet", "--version", version, "--out", out) == 0
    return folder


def test_models_are_judged_into_json_and_a_report_that_need_nothing_else(work, tmp_path, capsys):
    report, figures = tmp_path / "report.html", tmp_path / "figures.json"
    models = (work / "heuristic", work / "v2")
    assert (
        run("evaluate", "--store", work / "fleet", *models, "--report", report, "--json", figures)
        == 0
    )

    found = json.loads(figures.read_text())
    assert found["simulated"] is True
    assert [model["name"] for model in found["models"]] == ["heuristic", "v2"]
    for model in found["models"]:
        assert {"auc", "ece", "coverage_at_2pct_bad"} <= model.keys()
        assert {"auc", "ece", "coverage_at_2pct_bad"} <= model["tiers"]["low"].keys()
    assert found["models"][1]["auc"] > found["models"][0]["auc"]
    page = report.read_text()
    assert "SIMULATED" in page
    assert "SIMULATED" in capsys.readouterr().out
    assert page.count("<svg") == 12
    assert not re.search(r"<script|https?://|\$\w", page)


def test_two_folders_of_one_version_are_told_apart(work, tmp_path):
    figures = tmp_path / "figures.json"
    models = (work / "heuristic", work / "v2" / ".." / "heuristic")
    assert run("evaluate", "--store", work / "fleet", *models, "--json", figures) == 0
    names = [model["name"] for model in json.loads(figures.read_text())["models"]]
    assert len(set(names)) == 2


def test_export_has_a_line_for_each_device_model(work, tmp_path):
    path = tmp_path / "devices.csv"
    assert run("export", work / "v2", "--out", path) == 0
    with path.open() as file:
        lines = list(csv.DictReader(file))
    assert 200 < len(lines) <= 250
    assert all(
        0 <= float(x["low"]) <= float(x["rtc_score"]) <= float(x["high"]) <= 1 for x in lines
    )
    assert {line["tier"] for line in lines} == {"low", "high"}
    assert {line["simulated"] for line in lines} == {"True"}


def test_a_described_device_is_scored_by_what_is_known_of_it(work, tmp_path, capsys):
    described, scores = tmp_path / "device.json", tmp_path / "scores.json"
    found = {}
    for probe in (1.0, 200.0):
        described.write_text(
            json.dumps({"cores": 8, "memory_gib": 4, "os": "android", "probe": probe})
        )
        assert run("score", work / "v2", "--device", described, "--json", scores) == 0
        found[probe] = json.loads(scores.read_text())["scores"][1]
    assert found[1.0]["rtc_score"] > 0.9 > 0.3 > found[200.0]["rtc_score"]
    assert (found[1.0]["tier"], found[200.0]["tier"]) == ("high", "low")
    assert found[1.0]["evidence"] == "probe"
    assert "SIMULATED" in capsys.readouterr().out


def test_this_machine_is_scored_by_a_probe(work, tmp_path, monkeypatch):
    monkeypatch.setattr("codecpilot.samples.eligibility.probe.probe_slowness", lambda: 1.5)
    scores = tmp_path / "scores.json"
    assert run("score", work / "v2", "--this", "--json", scores) == 0
    found = json.loads(scores.read_text())
    assert found["probe"] == 1.5
    assert [size["size"] for size in found["scores"]] == [f"{w}x{h}" for w, h in scoring.SIZES]


def test_a_probe_measures_a_speed_of_this_machine():
    from codecpilot.samples.eligibility.probe import probe_slowness

    assert 0.05 < probe_slowness() < 50


def test_compare_and_base_say_which_devices_change_side_and_why(work, tmp_path, capsys):
    assert run("compare", work / "v2", work / "v2") == 0
    assert re.search(
        r"of \d+ device models \(0 new\) 0 gain AV1 and 0 lose it", capsys.readouterr().out
    )
    assert run("compare", work / "heuristic", work / "v2") == 0
    assert "judges the same calls" in capsys.readouterr().out
    more = ("--devices", 250, "--calls", 3000, "--seed", 2)
    assert run("simulate-fleet", *more, "--store", tmp_path / "more") == 0
    base = ("--version", "heuristic", "--base", work / "heuristic", "--out", tmp_path / "next")
    assert run("train", "--store", tmp_path / "more", *base) == 0
    said = capsys.readouterr().out
    assert re.search(r"of \d+ device models \(\d+ new\) \d+ gain AV1 and \d+ lose it", said)


def test_a_signed_model_is_held_to_the_key_that_is_configured(work, tmp_path, monkeypatch, capsys):
    key = Ed25519PrivateKey.generate()
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    train = ("train", "--store", work / "fleet", "--version", "heuristic")
    assert run(*train, "--sign", private, "--out", tmp_path / "signed") == 0
    monkeypatch.setenv("CODECPILOT_MODEL_KEY", str(public))
    csv_file = tmp_path / "out.csv"
    assert run("export", tmp_path / "signed", "--out", csv_file) == 0
    capsys.readouterr()
    assert run("export", work / "heuristic", "--out", csv_file) == 2
    assert "is not signed" in capsys.readouterr().err


def test_ingest_reads_what_the_store_then_has(work, tmp_path, capsys):
    part = next((work / "fleet").glob("*.parquet"))
    assert run("ingest", part, "--store", tmp_path / "store") == 0
    assert "from 1 of 1 files" in capsys.readouterr().out
    (tmp_path / "noise.json").write_text("no dump")
    assert run("ingest", tmp_path / "noise.json", "--store", tmp_path / "store") == 1
    assert "refused" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "--store", "{empty}", "--out", "{empty}/m"), "no telemetry in"),
        (
            ("train", "--store", "{work}/fleet", "--version", "v9", "--out", "{empty}/m"),
            "known are",
        ),
        (("evaluate", "--store", "{work}/fleet", "{empty}"), "is not a model"),
        (
            ("evaluate", "--store", "{work}/fleet", "{work}/v2", "--report", "{empty}/no/r.html"),
            "no such folder",
        ),
        (("score", "{work}/v2", "--name", "nobody's phone"), "knows no device"),
        (("score", "{work}/v2", "--device", "{empty}/none.json"), "No such file"),
        (("simulate-fleet", "--devices", "3", "--store", "{empty}"), "outside 10..100000"),
        (("export", "{work}/v2", "--out", "{empty}/no/devices.csv"), "No such file"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(words, said, work, tmp_path, capsys):
    filled = [word.format(empty=tmp_path, work=work) for word in words]
    assert run(*filled) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "text", ["[]", "3", '{"cores": "many"}', '{"colour": "red"}', '{"probe": -1}', "{"]
)
def test_a_device_file_of_nonsense_is_refused(text, work, tmp_path, capsys):
    path = tmp_path / "device.json"
    path.write_text(text)
    assert run("score", work / "v2", "--device", path) == 2
    assert "device.json" in capsys.readouterr().err


def test_the_doctor_scores_this_machine_and_keeps_what_it_calibrated(work, tmp_path, monkeypatch):
    monkeypatch.setattr("codecpilot.samples.speed.measure_speeds", list)
    monkeypatch.setattr("codecpilot.samples.calibration.SIZES", ((160, 90),))
    monkeypatch.setattr("codecpilot.samples.calibration.PICTURES", 4)
    out = tmp_path / "doctor.json"
    words = ["doctor", "--calibrate", "--model", str(work / "v2"), "--json", str(out)]
    main(words)
    found = json.loads(out.read_text())
    assert {row["preset"] for row in found["costs"]} >= {"ultralow", "best"}
    assert 0 < found["scores"]["640x360"]["rtc_score"] <= 1


@pytest.mark.parametrize(
    "wrong", [("--version", "[/x]"), ("--seed", "-1"), ("--sign", "/dev/zero")]
)
def test_wrong_values_are_one_line(work, tmp_path, capsys, wrong):
    out = tmp_path / "out"

    assert run("train", "--store", work / "fleet", "--out", out, *wrong) == 2

    assert "Traceback" not in capsys.readouterr().err
    assert not (out / "card.json").exists()


def test_folders_may_be_called_anything(work, tmp_path):
    odd = tmp_path / "[/x]\udcff"
    odd.parent.mkdir()
    odd.symlink_to(work / "heuristic")
    models = (odd, work / "heuristic")

    assert run("evaluate", "--store", work / "fleet", *models, "--report", tmp_path / "r.html") == 0

    assert "[/x]" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    "told",
    [
        "[" * 100_000,
        '{"soc": []}',
        '{"cores": 1%s}' % ("0" * 400),
        '{"cores": NaN}',
        '{"memory_gib": -1}',
    ],
)
def test_a_device_that_none_is_is_refused(work, tmp_path, capsys, told):
    (tmp_path / "device.json").write_text(told)

    assert run("score", work / "v2", "--device", tmp_path / "device.json") == 2

    assert len(capsys.readouterr().err.splitlines()) == 1
