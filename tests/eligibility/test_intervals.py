"""Clocks that jump, counters that are reset and reports that are missing cost what they touch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codecpilot.eligibility.importers import read_dump

from .dumps import START_MS, read_lines, rtcstats, sending, stats_line


def lines_at(times_s: list[float]) -> list[str]:
    """A report of each second of the call, stamped with the times given."""
    return [
        stats_line(sending(second), time_ms=START_MS + round(1000 * time_s))
        for second, time_s in enumerate(times_s)
    ]


def frames(imported) -> int:
    return sum(row["frames_encoded"] for row in imported.table.to_pylist())


def test_a_clock_that_falls_back_loses_one_step(tmp_path: Path):
    times = [float(s) for s in range(15)] + [s - 3600.0 for s in range(15, 32)]
    imported = read_lines(tmp_path, lines_at(times))

    assert imported.counts["clock_backwards"] == 1
    assert imported.table.num_rows == 3
    assert frames(imported) == 30 * 29
    assert [row["interval_index"] for row in imported.table.to_pylist()] == [0, 1, 2]


def test_a_clock_that_leaps_or_a_machine_that_slept_loses_one_step(tmp_path: Path):
    times = [float(s) for s in range(15)] + [s + 86_400.0 for s in range(15, 32)]
    imported = read_lines(tmp_path, lines_at(times))

    assert imported.counts["gaps"] == 1
    assert frames(imported) == 30 * 29
    assert max(row["fps"] for row in imported.table.to_pylist()) == pytest.approx(29)


def test_a_clock_that_stands_still_yields_nothing_and_no_error(tmp_path: Path):
    imported = read_lines(tmp_path, lines_at([7.0] * 31))

    assert imported.table.num_rows == 0
    assert imported.counts == {"connections": 1, "lines": 31, "samples": 31}


def test_reports_far_apart_are_shared_out_evenly(tmp_path: Path):
    lines = [stats_line(sending(s), time_ms=START_MS + 1000 * s) for s in (0, 25, 50)]
    imported = read_lines(tmp_path, lines)

    assert [row["frames_encoded"] for row in imported.table.to_pylist()] == [290] * 5
    assert [row["limited_cpu_us"] for row in imported.table.to_pylist()] == [2_000_000] * 5


def test_a_counter_that_is_reset_loses_one_step(tmp_path: Path):
    lines = [
        stats_line(sending(s if s < 15 else s - 14), time_ms=START_MS + 1000 * s) for s in range(32)
    ]
    imported = read_lines(tmp_path, lines)

    assert imported.counts["counter_resets"] == 1
    assert [row["frames_encoded"] for row in imported.table.to_pylist()] == [290, 261, 290]
    assert all(row["encode_p50_us"] == 5_000 for row in imported.table.to_pylist())


def test_one_counter_that_is_corrected_costs_itself_alone(tmp_path: Path):
    def corrected(second: int):
        reports = sending(second)
        reports["OT1"]["totalEncodeTime"] -= 0.5 if second >= 5 else 0.0
        return reports

    imported = read_lines(tmp_path, rtcstats(corrected))

    assert imported.counts["counter_resets"] == 1
    assert frames(imported) == 870


def test_a_counter_that_leaps_beyond_what_can_be_is_left_out(tmp_path: Path):
    def leaping(second: int):
        reports = sending(second)
        reports["OT1"]["framesEncoded"] += 10**15 if second >= 5 else 0
        return reports

    imported = read_lines(tmp_path, rtcstats(leaping))

    assert imported.counts["counter_jumps"] == 1
    assert frames(imported) == 29 * 29


def test_a_stream_that_is_renamed_begins_anew(tmp_path: Path):
    def renamed(second: int):
        reports = sending(second)
        if second >= 15:
            reports["OT9"] = reports.pop("OT1")
        return reports

    imported = read_lines(tmp_path, rtcstats(renamed))

    assert frames(imported) == 29 * 29
    assert "counter_resets" not in imported.counts


def test_a_short_tail_is_counted_and_half_an_interval_kept(tmp_path: Path):
    short, half = (read_lines(tmp_path, rtcstats(seconds=s)) for s in (14, 16))

    assert (short.table.num_rows, short.counts["intervals_too_short"]) == (1, 1)
    assert half.table["frames_encoded"].to_pylist() == [290, 145]
    assert half.table["fps"].to_pylist() == pytest.approx([29, 29])


def test_missing_members_leave_their_columns_empty(tmp_path: Path):
    def bare(second: int):
        outbound = sending(second)["OT1"]
        return {"OT1": {m: outbound[m] for m in ("type", "kind", "framesEncoded")}}

    imported = read_lines(tmp_path, rtcstats(bare))
    row = imported.table.to_pylist()[0]

    assert imported.counts["rows_without_encode_time"] == 3
    assert row["frames_encoded"] == 290
    known = {name for name, value in row.items() if value is not None}
    assert known == {
        *("schema_version", "call_id", "side", "interval_index", "time_us", "source"),
        *("frames_encoded", "fps", "simulated"),
    }


def test_wrong_types_and_signs_are_counted(tmp_path: Path):
    def odd(second: int):
        reports = sending(second)
        reports["OT1"] |= {
            "totalEncodeTime": "soon",
            "frameWidth": None,
            "frameHeight": -5,
            "framesPerSecond": True,
            "codecId": 7,
            "encoderImplementation": ["libaom"],
            "qualityLimitationDurations": "[",
        }
        reports["S1"]["frames"] = float("nan")
        return reports

    imported = read_lines(tmp_path, rtcstats(odd))

    assert imported.counts["values_refused"] == 31 * 6
    assert imported.table["frames_encoded"].to_pylist() == [290] * 3
    assert imported.table["encoder"].to_pylist() == [None] * 3


def test_a_truncated_last_line_costs_itself(tmp_path: Path):
    text = "\n".join(rtcstats(seconds=32))
    whole = read_lines(tmp_path, rtcstats(seconds=31))
    path = tmp_path / "cut"
    path.write_text(text[:-40])

    cut = read_dump(path)

    assert cut.counts == whole.counts | {"lines": 32, "truncated_last_line": 1}
    assert cut.table["frames_encoded"].equals(whole.table["frames_encoded"])


def test_garbage_between_the_lines_costs_itself(tmp_path: Path):
    lines = rtcstats()
    garbage = ["", "not json", "[" * 100_000, '{"a":', "\x00\x01", "7", "[]", '["getstats"]']
    garbage += [
        '["getstats", null, {}, 0]',
        '["getstats", "PC_0", [], 0]',
        '["getstats","PC_0",{},0]',
    ]
    imported = read_lines(tmp_path, lines[:15] + garbage + lines[15:])

    assert imported.table["frames_encoded"].to_pylist() == [290] * 3
    counts = imported.counts
    assert (counts["lines_not_json"], counts["lines_odd"], counts["samples_without_time"]) == (
        4,
        5,
        1,
    )


def test_sounds_alone_make_no_rows_and_say_so(tmp_path: Path):
    sound = {"A": {"type": "outbound-rtp", "kind": "audio", "packetsSent": 1}}
    imported = read_lines(tmp_path, rtcstats(lambda _: sound))

    assert imported.table.num_rows == 0
    assert imported.counts["connections_without_video"] == 1


def test_connections_without_end_are_bounded(tmp_path: Path):
    lines = [
        json.dumps(["getstats", f"PC_{n}", {"timestamp": START_MS}, START_MS]) for n in range(1_500)
    ]
    imported = read_lines(tmp_path, lines)

    assert (imported.counts["connections"], imported.counts["connections_refused"]) == (1_000, 500)
