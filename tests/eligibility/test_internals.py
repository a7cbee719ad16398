"""What chrome://webrtc-internals saves gives the rows that the same reports give line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codecpilot.codecs.errors import RemoteError

from .dumps import START_MS, internals, read_lines, read_text, receiving, rtcstats, sending

SAME = ["interval_index", "time_us", "codec", "encoder", "width", "height", "fps", "encode_p50_us"]
SAME += ["decode_p50_us", "frames_captured", "frames_encoded", "frames_dropped", "freeze_us"]
SAME += ["frames_shown_late"]
# Objects within arrays are not read.
SAME_IN_TEXT = [*SAME, "limited_cpu_us", "limited_bandwidth_us", "outcome"]


def read(tmp_path: Path, dump: object):
    return read_text(tmp_path, json.dumps(dump), name="internals.json")


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("make", [sending, receiving])
def test_series_and_lines_agree(tmp_path: Path, make, as_text):
    series = read(tmp_path, internals(make, as_text=as_text)).table
    lines = read_lines(tmp_path, rtcstats(make)).table

    assert series.num_rows == 3
    same = SAME_IN_TEXT if as_text else SAME
    assert series.select(same).equals(lines.select(same))
    assert set(series["source"].to_pylist()) == {"webrtc-internals"}


def test_the_device_is_read_though_it_stands_at_the_end(tmp_path: Path):
    dump = internals() | {"hardwareConcurrency": 8, "deviceMemory": 4}
    dump["UserAgentData"] = {"platform": "Android", "platformVersion": "14.0.0", "mobile": True}
    row = read(tmp_path, dump).table.to_pylist()[0]

    assert (row["device_model"], row["device_brand"]) == ("Pixel 6", "google")
    assert (row["os"], row["os_version"]) == ("android", "14.0.0")
    assert (row["cores"], row["memory_bytes"]) == (8, 4 << 30)


def test_several_connections_are_several_calls(tmp_path: Path):
    imported = read(tmp_path, internals(connections=("8-1", "8-2", "9-1")))

    assert imported.counts["connections"] == 3
    assert len(set(imported.table["call_id"].to_pylist())) == 3


def test_without_timestamps_points_lie_evenly_between_the_ends(tmp_path: Path):
    dump = internals()
    stats = dump["PeerConnections"]["8-1"]["stats"]
    del stats["OT1-timestamp"]

    assert read(tmp_path, dump).table["frames_encoded"].to_pylist() == [290] * 3


def test_a_series_that_begins_late_is_put_where_it_belongs(tmp_path: Path):
    dump = internals()
    stats = dump["PeerConnections"]["8-1"]["stats"]
    late = stats["OT1-totalEncodeTime"]
    late["values"] = json.dumps(json.loads(late["values"])[10:])
    late["startTime"] = stats["OT1-framesEncoded"]["startTime"].replace("13:20", "13:30")
    late["startTime"] = late["startTime"][:17] + "30Z"
    times = json.loads(stats["OT1-timestamp"]["values"])
    assert times[10] == START_MS + 10_000

    rows = read(tmp_path, dump).table.to_pylist()

    assert rows[0]["encode_p50_us"] is None
    assert rows[2]["encode_p50_us"] == 5_000


def test_a_file_that_ends_too_early_keeps_what_was_there(tmp_path: Path):
    text = json.dumps(internals(connections=("1-1", "2-2")))
    cut = read_text(tmp_path, text[: len(text) * 3 // 4])

    assert cut.counts["truncated_file"] == 1
    assert cut.table.num_rows >= 3


def test_nesting_without_end_is_refused(tmp_path: Path):
    with pytest.raises(RemoteError, match="nests"):
        read_text(tmp_path, '{"PeerConnections":' * 100_000)
    with pytest.raises(RemoteError, match="nests"):
        read_text(tmp_path, '{"PeerConnections":{"1":{"stats":' + "[" * 1_000_000)


@pytest.mark.parametrize(
    "series",
    [
        {"startTime": "yesterday", "endTime": "today"},
        {"startTime": 5, "endTime": None},
        {"startTime": "2023-11-14T22:13:50Z", "endTime": "2023-11-14T22:13:20Z"},
        {"values": "[" * 50_000},
        {"values": '{"a": 1}'},
        {"values": []},
        {"values": None},
        {"statsType": 7},
        {"statsType": {"deep": ["er"]}},
    ],
)
def test_a_series_that_makes_no_sense_costs_itself(tmp_path: Path, series):
    dump = internals()
    stats = dump["PeerConnections"]["8-1"]["stats"]
    stats["OT9-framesEncoded"] = stats["OT1-framesEncoded"] | series

    rows = read(tmp_path, dump).table.to_pylist()

    assert [row["frames_captured"] for row in rows] == [300] * 3


def test_connections_that_are_no_objects_are_passed_over(tmp_path: Path):
    dump = internals()
    dump["PeerConnections"] |= {
        "a": None,
        "b": [1, [2]],
        "c": {"stats": 4},
        "d": {"stats": {"x": 1}},
    }

    assert read(tmp_path, dump).table.num_rows == 3


def test_points_over_the_limit_are_counted(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("codecpilot.eligibility.importers.internals.MAX_POINTS", 20)

    imported = read_text(tmp_path, json.dumps(internals(seconds=31)))

    assert imported.counts["points_refused"] >= 11
    assert imported.table.num_rows == 2
