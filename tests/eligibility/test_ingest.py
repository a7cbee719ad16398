"""Files go into the store one by one; a bad one is reported and costs itself alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility.ingest import ingest, totals
from codecpilot.eligibility.store import Store

from .dumps import rtcstats


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dumps = tmp_path / "dumps"
    (dumps / "deeper").mkdir(parents=True)
    (dumps / "a.jsonl").write_text("\n".join(rtcstats()))
    (dumps / "b.json").write_text("no dump")
    (dumps / "deeper" / "c.txt").write_text("\n".join(rtcstats(seconds=51)))
    (dumps / "notes.md").write_text("not looked at")
    return dumps


def test_a_folder_is_searched_and_each_file_reported(folder: Path, tmp_path: Path):
    store, told = Store(tmp_path / "store"), []
    done = ingest([folder], store=store, on_file=told.append)

    assert told == done
    assert [(one.path.name, one.rows) for one in done] == [
        ("a.jsonl", 3),
        ("b.json", 0),
        ("c.txt", 5),
    ]
    assert [one.refusal is None for one in done] == [True, False, True]
    assert store.connect().count().execute() == 8
    assert totals(done) == {
        "connections": 2,
        "files": 3,
        "files_known": 0,
        "files_refused": 1,
        "lines": 82,
        "rows": 8,
        "samples": 82,
    }


def test_the_same_files_again_change_nothing(folder: Path, tmp_path: Path):
    store = Store(tmp_path / "store")
    ingest([folder], store=store)
    digest = store.digest()
    again = ingest([folder, folder / "a.jsonl"], store=store)

    assert [one.known for one in again] == [True, False, True]
    assert store.digest() == digest


def test_a_store_may_be_poured_into_another(folder: Path, tmp_path: Path):
    first, second = Store(tmp_path / "first"), Store(tmp_path / "second")
    ingest([folder], store=first)
    ingest([first.folder], store=second)

    assert second.digest() == first.digest()


def test_nothing_to_read_is_refused_and_a_missing_file_reported(tmp_path: Path):
    with pytest.raises(LocalError, match="no dump"):
        ingest([tmp_path], store=Store(tmp_path / "store"))
    (one,) = ingest([tmp_path / "none.json"], store=Store(tmp_path / "store"))

    assert "cannot read" in (one.refusal or "")
    assert not (tmp_path / "store").exists()


def test_what_browsers_recorded_is_read_without_refusal(shared: Path, tmp_path: Path):
    done = ingest([shared / "telemetry"], store=Store(tmp_path))

    assert len(done) >= 5
    assert [one.refusal for one in done] == [None] * len(done)
    assert min(one.rows for one in done) >= 3
    assert 60 < sum(one.rows for one in done) < 100


def test_what_cannot_be_read_in_a_folder_is_refused_and_not_passed_over(
    folder: Path, tmp_path: Path
):
    (folder / "gone.json").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.json")

    done = ingest([folder, folder / ("x" * 5000)], store=Store(tmp_path / "store"))

    refused = {one.path.name[:9]: one.refusal for one in done if one.refusal}
    assert set(refused) == {"b.json", "gone.json", "pipe.json", "xxxxxxxxx"}
    assert "a pipe or a device" in (refused["pipe.json"] or "")
    assert sum(one.rows for one in done) == 8


def test_a_store_of_another_schema_is_refused_before_anything_is_added(
    folder: Path, tmp_path: Path
):
    (tmp_path / "other.parquet").write_bytes(b"not ours")
    store = Store(tmp_path)

    with pytest.raises(LocalError, match="not Parquet"):
        ingest([folder], store=store)

    assert [part.name for part in store.parts()] == ["other.parquet"]
