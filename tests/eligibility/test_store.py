"""The store keeps what it is given, whole, and refuses what it did not write."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility.schema import arrow_schema
from codecpilot.eligibility.store import VERSION_KEY, Store

from .rows import call, table


def test_parts_come_back_as_one_table(tmp_path: Path):
    store = Store(tmp_path / "made" / "here")
    store.append(table(call(3, number=1)))
    store.append(table(call(4, number=2)))

    telemetry = store.connect()

    assert telemetry.count().execute() == 7
    assert telemetry.columns == tuple(arrow_schema().names)
    assert sorted(path.suffix for path in store.folder.iterdir()) == [".parquet"] * 2


def test_the_same_rows_again_change_nothing(tmp_path: Path):
    store = Store(tmp_path)
    first = store.append(table(call(3)))
    digest = store.digest()

    assert store.append(table(call(3))) == first
    assert store.digest() == digest
    assert len(store.parts()) == 1


def test_the_digest_is_the_rows_and_not_their_order(tmp_path: Path):
    one, other = Store(tmp_path / "one"), Store(tmp_path / "other")
    parts = [table(call(number=n)) for n in (1, 2)]
    for part in parts:
        one.append(part)
    for part in reversed(parts):
        other.append(part)

    assert one.digest() == other.digest() != Store(tmp_path / "none").digest()


def test_a_folder_named_like_a_pattern_is_read_as_it_is_named(tmp_path: Path):
    store = Store(tmp_path / "a[1]*'?")
    Store(tmp_path / "a1x").append(table(call(5, number=1)))
    store.append(table(call(2)))

    assert store.connect().count().execute() == 2


def test_an_empty_store_and_no_rows_are_refused(tmp_path: Path):
    with pytest.raises(LocalError, match="no telemetry"):
        Store(tmp_path).connect()
    with pytest.raises(LocalError, match="no rows"):
        Store(tmp_path).append(arrow_schema().empty_table())


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalError, match="cannot write"):
        Store(tmp_path / "file" / "store").append(table(call()))


def _write(folder: Path, name: str, version: bytes | None, *, drop: str | None = None) -> None:
    rows = table(call(number=9))
    rows = rows.drop_columns([drop]) if drop else rows
    metadata = {VERSION_KEY: version} if version else None
    pq.write_table(rows.replace_schema_metadata(metadata), folder / name)


@pytest.mark.parametrize(
    ("version", "drop", "said"),
    [
        (b"2", None, "mixed schema versions 1, 2"),
        (b"two", None, "not written by codecpilot"),
        (b"\xff", None, "not written by codecpilot"),
        (None, None, "not written by codecpilot"),
        (b"1", "fps", "other columns"),
    ],
)
def test_parts_of_another_kind_are_refused_before_any_is_read(tmp_path, version, drop, said):
    store = Store(tmp_path)
    store.append(table(call()))
    _write(tmp_path, "foreign.parquet", version, drop=drop)

    with pytest.raises(LocalError, match=said) as refusal:
        store.connect()

    assert "foreign.parquet" in str(refusal.value)


def test_garbage_among_the_parts_is_refused(tmp_path: Path):
    store = Store(tmp_path)
    store.append(table(call()))
    (tmp_path / "junk.parquet").write_bytes(b"PAR1 and nothing else")

    with pytest.raises(LocalError, match="not Parquet"):
        store.connect()


def test_a_changed_part_is_found_out(tmp_path: Path):
    store = Store(tmp_path)
    path = store.append(table(call()))
    store.verify()
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)

    with pytest.raises(LocalError, match="changed or damaged"):
        store.verify()


def test_a_writer_that_dies_leaves_no_part(tmp_path: Path, monkeypatch):
    def dies(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(pq, "write_table", dies)

    with pytest.raises(LocalError, match="disk full"):
        Store(tmp_path).append(table(call()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["codec=H264", "simulated=true"])
def test_a_folder_named_like_a_column_changes_no_row(tmp_path: Path, name: str):
    store = Store(tmp_path / name)
    store.append(table(call(2)))

    found = store.connect().select("codec", "simulated").distinct().to_pyarrow().to_pylist()

    assert found == [{"codec": "AV1", "simulated": False}]


def test_a_damaged_part_is_refused_before_any_is_read(tmp_path: Path):
    store = Store(tmp_path)
    part = store.append(table(call(50)))
    content = bytearray(part.read_bytes())
    content[len(content) // 4] ^= 1
    part.write_bytes(content)

    with pytest.raises(LocalError, match="changed or damaged"):
        store.connect()


def test_a_pipe_among_the_parts_is_not_waited_for(tmp_path: Path):
    store = Store(tmp_path)
    store.append(table(call(2)))
    os.mkfifo(tmp_path / "x.parquet")

    with pytest.raises(LocalError, match="no file"):
        store.connect()


def test_a_version_of_thousands_of_digits_is_none(tmp_path: Path):
    rows = table(call(2)).replace_schema_metadata({VERSION_KEY: b"9" * 5000})
    pq.write_table(rows, tmp_path / "x.parquet")

    with pytest.raises(LocalError, match="not written by codecpilot"):
        Store(tmp_path).connect()


def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path):
    with pytest.raises(LocalError, match=r"udcff.*UTF-8"):
        Store(tmp_path / "x\udcff")
