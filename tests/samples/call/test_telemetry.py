"""A call's telemetry on the disk: what is there after a kill, at the end, and where it cannot be."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility import extra
from codecpilot.eligibility.features import call_features
from codecpilot.eligibility.schema import table_of
from codecpilot.eligibility.store import VERSION_KEY, Store
from codecpilot.samples.call import telemetry
from codecpilot.samples.call.telemetry import RowWriter, check_telemetry
from codecpilot.samples.cli import main

from tests.eligibility.rows import call

# Generous: the machine may be busy with other things.
TIMEOUT_S = 90

KILLED = """
import os, signal, sys
from pathlib import Path
from codecpilot.eligibility.store import Store
from codecpilot.samples.call.telemetry import RowWriter
from tests.eligibility.rows import call

writer = RowWriter(Store(Path(sys.argv[1])))
for row in call(3, encode_p95_us=60_000):
    writer.write(row)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_call_has_left_all_intervals_that_were_over_and_how_it_went(tmp_path: Path):
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    killed = subprocess.run(command, cwd=root, timeout=TIMEOUT_S, check=False)
    assert killed.returncode != 0
    rows = Store(tmp_path).connect()

    assert sorted(rows.interval_index.execute()) == [0, 1, 2]
    assert call_features(rows).bad.execute().tolist() == [1]


def test_at_the_end_a_side_is_one_part_whose_rows_all_have_the_outcome(tmp_path: Path):
    store = Store(tmp_path)
    writers = [RowWriter(store), RowWriter(store)]
    for side, writer in zip("ab", writers, strict=True):
        # Slow at first, which would have been bad.
        slow = call(1, side=side, encode_p95_us=60_000)
        for row in [*slow, *call(10, side=side)[1:]]:
            writer.write(row)
    assert len(store.parts()) == 20
    for writer in writers:
        writer.close()

    assert len(store.parts()) == 2
    rows = store.connect()
    counted = rows.group_by("side", "outcome").agg(n=rows.count()).execute()
    assert sorted(counted.itertuples(index=False, name=None)) == [
        ("a", "good", 10),
        ("b", "good", 10),
    ]


def test_a_long_call_leaves_few_files_even_if_it_is_killed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(telemetry, "MAX_PARTS", 5)
    store = Store(tmp_path)
    store.append(table_of(call(7, number=1)))
    writer = RowWriter(store)
    for row in call(13):
        writer.write(row)
        assert len(store.parts()) <= 6

    assert store.connect().count().execute() == 20


def test_a_full_disk_ends_the_telemetry_and_not_the_call(tmp_path: Path, monkeypatch, caplog):
    store = Store(tmp_path)
    writer = RowWriter(store)
    rows = call(3)
    writer.write(rows[0])

    def fail(table):
        raise LocalError("no space left")

    monkeypatch.setattr(store, "append", fail)
    with caplog.at_level(logging.ERROR):
        for row in rows[1:]:
            writer.write(row)
        writer.close()

    assert [record.getMessage() for record in caplog.records] == [
        "the telemetry ends here: no space left"
    ]
    assert store.connect().count().execute() == 1


def test_a_call_of_some_seconds_is_a_row_a_side_that_features_are_made_of(tmp_path: Path):
    folder = tmp_path / "new" / "store"
    options = ["--headless", "--seconds", "5", "--size", "320x180", "--fps", "15"]
    # Whatever else the machine does, AV1 is sent.
    options += ["--adaptation", "off"]
    code = "from codecpilot.samples.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", code, "call", *options, "--telemetry", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    rows = Store(folder).connect()
    features = call_features(rows).to_pandas()

    told = rows.to_pandas().sort_values("side")
    assert list(told.side) == ["a", "b"]
    assert (told.call_id.nunique(), set(told.source), set(told.codec)) == (1, {"call"}, {"AV1"})
    assert set(told.encoder.str.split().str[0]) == {"libaom"}
    assert (told.width == 320).all()
    assert told.frames_captured.between(75, 200).all()
    assert told.frames_encoded.between(25, 200).all()
    assert told.fps.between(4, 20).all()
    assert told.av_offset_p95_us.between(1, 3_000_000).all()
    assert (told.decode_p95_us >= told.decode_p50_us).all()
    assert list(features.n_intervals) == [1, 1]
    assert features.encode_load.between(1e-4, 20).all()
    assert features.encode_cpu_ns_px.between(1, 10_000).all()


def refusal(folder: Path, capsys) -> str:
    """What the command says before any call; it says it in one line."""
    assert main(["call", "--headless", "--seconds", "1", "--telemetry", str(folder)]) == 2
    out, errors = capsys.readouterr()
    assert (out, errors.count("\n")) == ("", 1)
    return errors


def test_a_file_is_no_place_for_telemetry(tmp_path: Path, capsys):
    file = tmp_path / "file"
    file.write_text("kept")

    assert f"cannot write telemetry to {file}: File exists; name a folder" in refusal(file, capsys)
    assert "Not a directory" in refusal(file / "below", capsys)
    assert file.read_text() == "kept"


def test_a_folder_that_cannot_be_written_is_refused(capsys):
    # Nobody can, whatever their rights.
    assert "cannot write telemetry to /proc/self" in refusal(Path("/proc/self"), capsys)


def test_a_store_of_another_schema_is_refused(tmp_path: Path, capsys):
    table = table_of(call(1)).replace_schema_metadata({VERSION_KEY: b"99"})
    pq.write_table(table, tmp_path / "other.parquet")

    assert "holds schema version 99; this build reads version 1" in refusal(tmp_path, capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["other.parquet"]


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "duckdb" else name)

    assert "pip install -e '.[eligibility]'" in refusal(tmp_path / "store", capsys)
    assert not (tmp_path / "store").exists()


def test_a_folder_that_can_be_written_is_made_and_left_empty(tmp_path: Path):
    check_telemetry(tmp_path / "a" / "b")
    check_telemetry(tmp_path / "a" / "b")

    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("part", [0, 1])
def test_merging_removes_the_parts_that_the_rows_stand_for_and_no_other(tmp_path: Path, part: int):
    store = Store(tmp_path)
    rows = call(2)
    parts = [store.append(table_of([row])) for row in rows]
    other = store.append(table_of(call(1, number=1)))
    merged = store.merge(table_of(rows), parts=parts)

    assert set(store.parts()) == {merged, other}
    # What stands for itself stays.
    assert store.merge(table_of(rows), parts=[merged, parts[part]]) == merged
    assert set(store.parts()) == {merged, other}
