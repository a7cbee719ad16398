"""Whatever a file holds, reading it ends with rows in the schema or with RemoteError."""

from __future__ import annotations

import gzip
import json
import resource
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codecpilot.codecs.errors import RemoteError
from codecpilot.eligibility.importers import read_dump, reading
from codecpilot.eligibility.importers.reports import MEMBERS
from codecpilot.eligibility.schema import check_table

from .dumps import START_MS, internals, read_text, rtcstats, sending

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(["video", "audio", "outbound-rtp", "inbound-rtp", "ssrc", "PC_0", "OT1", "1"]),
    st.text(max_size=8),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(sorted(MEMBERS)) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)
TIMES = st.integers(START_MS - 10**5, START_MS + 10**5) | LEAVES
REPORTS = st.dictionaries(
    st.sampled_from(["OT1", "IT1", "ssrc_1_send", "timestamp"]),
    st.dictionaries(st.sampled_from(sorted(MEMBERS)), VALUES, max_size=8) | VALUES,
    max_size=4,
)
EVENTS = st.tuples(st.sampled_from(["getstats", "getStats"]), st.just("PC_0"), REPORTS, TIMES)
QUIET = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


def survives(tmp_path: Path, content: str | bytes) -> None:
    try:
        imported = read_text(tmp_path, content)
    except RemoteError:
        return
    check_table(imported.table)
    assert all(isinstance(n, int) and n > 0 for n in imported.counts.values())


@QUIET
@given(events=st.lists(EVENTS | VALUES, max_size=12))
def test_any_lines(tmp_path: Path, events):
    healthy = rtcstats(seconds=6)
    lines = [json.dumps(event) for event in events]
    survives(tmp_path, "\n".join([*healthy[:3], *lines, *healthy[3:]]))


@QUIET
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 12), st.sampled_from(sorted(MEMBERS)), LEAVES), max_size=10
    )
)
def test_any_member_at_any_moment(tmp_path: Path, changes):
    def make(second: int):
        reports = sending(second)
        for when, member, value in changes:
            if when == second:
                reports["OT1"][member] = value
        return reports

    survives(tmp_path, "\n".join(rtcstats(make, seconds=13)))


@QUIET
@given(data=st.data())
def test_any_damage_to_a_whole_file(tmp_path: Path, data):
    kinds = [
        "\n".join(rtcstats(seconds=8)).encode(),
        json.dumps(internals(seconds=8)).encode(),
        gzip.compress("\n".join(rtcstats(seconds=8)).encode()),
    ]
    content = bytearray(data.draw(st.sampled_from(kinds)))
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=6)):
        content[at] = data.draw(st.integers(0, 255))
    survives(tmp_path, bytes(content[: data.draw(st.integers(0, len(content)))]))


@QUIET
@given(series=VALUES, place=st.integers(0, 4))
def test_any_value_in_an_internals_dump(tmp_path: Path, series, place):
    dump = internals(seconds=8)
    stats = dump["PeerConnections"]["8-1"]["stats"]
    if place == 0:
        stats["OT1-framesEncoded"] = series
    elif place == 1:
        stats["OT1-framesEncoded"]["values"] = series
    elif place == 2:
        stats["OT1-timestamp"]["values"] = json.dumps([series] * 8)
    elif place == 3:
        dump["PeerConnections"]["8-1"] = series
    else:
        dump["PeerConnections"] = series
    survives(tmp_path, json.dumps(dump))


@QUIET
@given(content=st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, content):
    survives(tmp_path, content)
    survives(tmp_path, b'{"PeerConnections":' + content)
    survives(tmp_path, b'["getstats"' + content)


def test_a_line_without_end_takes_no_memory(tmp_path: Path):
    """130 MB of brackets out of a small file."""
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(8):
            file.write(b"[" * (16 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(RemoteError, match="no call statistics"):
        read_dump(path)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_a_file_over_the_limit_is_read_up_to_it(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 20_000)

    imported = read_text(tmp_path, "\n".join(rtcstats(seconds=200)))

    assert imported.counts["stopped_at_size_limit"] == 1
    assert 1 < imported.table.num_rows < 19


def test_a_cut_gzip_file_keeps_what_was_there(tmp_path: Path):
    packed = gzip.compress("\n".join(rtcstats(seconds=300)).encode())

    imported = read_text(tmp_path, packed[: len(packed) * 3 // 4])

    assert imported.counts["truncated_file"] == 1
    assert 3 < imported.table.num_rows < 30


def test_many_rows_are_made_piece_by_piece(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("codecpilot.eligibility.importers.CHUNK_ROWS", 2)

    imported = read_text(tmp_path, "\n".join(rtcstats(seconds=71)))

    assert imported.table["interval_index"].to_pylist() == list(range(7))


def test_a_text_without_end_ends_an_internals_dump(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("codecpilot.eligibility.importers.internals.MAX_TEXT_BYTES", 200_000)
    healthy = json.dumps(internals(seconds=31))[: -len("}")]

    imported = read_text(tmp_path, healthy + ', "more": "' + r"\"a" * 400_000 + '"}')

    assert imported.counts["stopped_at_size_limit"] == 1
    assert imported.table.num_rows == 3


def test_series_without_number_are_kept_up_to_a_limit(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("codecpilot.eligibility.importers.internals.MAX_CONNECTION_POINTS", 100)

    imported = read_text(tmp_path, json.dumps(internals(seconds=31, connections=("1", "2"))))

    kept = 13 * 2 * 31 - imported.counts["points_refused"]
    assert kept <= 200 < kept + 13 * 31


def test_long_texts_and_names_are_let_go(tmp_path: Path):
    """Members, reports and connections stay until the file ends, as long as they may be."""
    long = "x" * 2000
    reports = {"OT1": {"type": "outbound-rtp", "codecId": long}, long: {"type": "codec"}}
    lines = [
        json.dumps(["getstats", f"PC_{n}" if n % 2 else f"{n}{long}", reports, START_MS])
        for n in range(10)
    ]
    lines += [
        json.dumps(["getstats", "PC_0", {"OT1": {"qualityLimitationDurations": [1]}}, START_MS])
    ]

    imported = read_text(tmp_path, "\n".join([*lines, *rtcstats(seconds=31)]))

    assert imported.counts["values_refused"] == 6
    assert imported.counts["reports_odd"] == imported.counts["lines_odd"] == 5
    assert imported.table.num_rows == 3


def test_reports_are_bounded_over_all_connections(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("codecpilot.eligibility.importers.rtcstats.MAX_FILE_REPORTS", 5)
    lines = [line for n in range(3) for line in rtcstats(seconds=2, connection=f"PC_{n}")]

    imported = read_text(tmp_path, "\n".join(lines))

    assert imported.counts["reports_refused"] == 8
