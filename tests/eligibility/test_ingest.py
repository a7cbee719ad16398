"""Files go into the store one by one; a bad one is reported and costs itself alone."""

from __future__ import annotations

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
