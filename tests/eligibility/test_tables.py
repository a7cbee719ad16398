"""CSV and Parquet in the schema go in as they are, and nothing else does."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from codecpilot.codecs.errors import RemoteError
from codecpilot.eligibility.importers import read_dump, tables

from .dumps import read_text
from .rows import CALL_ID, call, table

LEAST = f"schema_version,call_id,side,interval_index,time_us\n1,{CALL_ID},a,0,5\n"


def test_what_is_written_as_csv_comes_back(tmp_path: Path):
    rows = table(call(4, outcome="good", device_brand=None, on_power=True, battery_ratio=0.5))
    pa_csv.write_csv(rows, tmp_path / "rows")

    imported = read_dump(tmp_path / "rows")

    assert imported.table.equals(rows)
    assert imported.counts == {"rows": 4}


def test_what_is_written_as_parquet_comes_back(tmp_path: Path):
    folder = tmp_path / "year=2024"
    folder.mkdir()
    pq.write_table(table(call(4)), folder / "rows")

    assert read_dump(folder / "rows").table.equals(table(call(4)))


def test_columns_that_may_be_absent_may_be(tmp_path: Path):
    imported = read_text(tmp_path, LEAST)
    (row,) = imported.table.to_pylist()

    assert (row["source"], row["simulated"], row["fps"]) == ("csv", False, None)
    assert imported.counts == {"columns_absent": 36, "rows": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LEAST.replace("\n1,", "\n2,"), "schema version 2"),
        (LEAST + f"2,{CALL_ID},a,1,5\n", "mixed schema versions 1, 2"),
        (LEAST.replace("time_us", "name"), "unknown: name"),
        (LEAST.replace(",a,", ",c,"), "side"),
        (LEAST.replace(",0,5", ",zero,5"), "zero"),
        (LEAST.replace(",0,5", ",0"), "columns"),
        (LEAST.replace(CALL_ID, "someone"), "call_id"),
        (LEAST.replace("\n", ",fps\n", 1).replace("5\n", "5,inf\n"), "fps"),
        ("schema_version\n", "missing"),
        ("schema_version,a\n" + '"' * 999, "CSV"),
    ],
)
def test_a_csv_that_does_not_fit_is_refused_and_says_why(tmp_path: Path, text, said):
    with pytest.raises(RemoteError, match=said):
        read_text(tmp_path, text)


def test_a_parquet_file_of_another_schema_or_none_is_refused(tmp_path: Path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other")
    with pytest.raises(RemoteError, match="schema_version"):
        read_dump(tmp_path / "other")
    with pytest.raises(RemoteError, match="Parquet"):
        read_text(tmp_path, b"PAR1" + bytes(100) + b"PAR1")


def test_a_parquet_file_of_odd_types_is_refused(tmp_path: Path):
    rows = table(call(1))
    odd = rows.set_column(0, "schema_version", pa.array([{"a": 1}]))
    pq.write_table(odd, tmp_path / "odd")
    with pytest.raises(RemoteError, match="schema version"):
        read_dump(tmp_path / "odd")
    odd = rows.set_column(rows.column_names.index("fps"), "fps", pa.array([[1.0]]))
    pq.write_table(odd, tmp_path / "odd")
    with pytest.raises(RemoteError, match="fps"):
        read_dump(tmp_path / "odd")


@pytest.mark.parametrize("name", ["rows", "rows.csv", "rows.csv.gz", "rows.csv.zst"])
def test_csv_is_unpacked_by_what_it_holds_and_not_by_its_name(tmp_path: Path, name: str):
    assert read_text(tmp_path, LEAST, name=name).table.num_rows == 1
    assert read_text(tmp_path, gzip.compress(LEAST.encode()), name=name).table.num_rows == 1


def test_packed_csv_that_was_cut_is_refused(tmp_path: Path):
    pa_csv.write_csv(table(call(200)), tmp_path / "rows.csv")
    packed = gzip.compress((tmp_path / "rows.csv").read_bytes())

    for content in (packed[:-9], packed[:-4] + b"abcd"):
        with pytest.raises(RemoteError, match="no CSV"):
            read_text(tmp_path, content, name="rows.csv.gz")


def test_a_header_without_end_is_refused_before_it_is_parsed(tmp_path: Path):
    wide = "schema_version" + ",a" * 300_000 + "\n1" + ",1" * 300_000

    with pytest.raises(RemoteError, match="longer header"):
        read_text(tmp_path, wide)


def test_a_file_of_more_rows_than_fit_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    pq.write_table(table(call(4)), tmp_path / "rows.parquet")
    pa_csv.write_csv(table(call(4)), tmp_path / "rows.csv")

    for name in ("rows.parquet", "rows.csv"):
        with pytest.raises(RemoteError, match="over 3 rows"):
            read_dump(tmp_path / name)

    monkeypatch.setattr(tables, "MAX_ROWS", 4)
    assert read_dump(tmp_path / "rows.csv").table.num_rows == 4
