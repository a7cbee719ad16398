"""rtcstats dumps become rows, whatever browser and client wrote them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.eligibility.importers import read_dump

from .dumps import START_MS, read_lines, read_text, receiving, rtcstats, sending, stats_line


def test_a_sender_is_what_its_counters_say(tmp_path: Path):
    imported = read_lines(tmp_path, rtcstats())
    rows = imported.table.to_pylist()

    assert [row["interval_index"] for row in rows] == [0, 1, 2]
    assert [row["time_us"] for row in rows] == [(START_MS + s) * 1000 for s in (0, 10_000, 20_000)]
    for row in rows:
        assert (row["codec"], row["encoder"], row["source"]) == ("AV1", "libaom", "rtcstats")
        assert (row["width"], row["height"]) == (640, 360)
        assert row["fps"] == pytest.approx(29)
        assert row["encode_p50_us"] == 5_000
        assert row["encode_p95_us"] is None
        assert (row["frames_captured"], row["frames_encoded"], row["frames_dropped"]) == (
            300,
            290,
            10,
        )
        assert (row["limited_cpu_us"], row["limited_bandwidth_us"]) == (2_000_000, 1_000_000)
        assert row["decode_p50_us"] is None
        assert not row["simulated"]
        # 20 % of the time limited by the CPU.
        assert row["outcome"] == "bad"
    assert len({row["call_id"] for row in rows}) == 1


def test_a_receiver_is_what_its_counters_say(tmp_path: Path):
    rows = read_lines(tmp_path, rtcstats(receiving)).table.to_pylist()

    assert len(rows) == 3
    for row in rows:
        assert (row["codec"], row["width"], row["height"]) == ("VP9", 320, 180)
        assert row["fps"] == pytest.approx(25)
        assert row["decode_p50_us"] == 2_000
        assert (row["freeze_count"], row["freeze_us"], row["frames_shown_late"]) == (1, 100_000, 10)
        assert row["encoder"] is row["encode_p50_us"] is row["frames_captured"] is None


def test_both_ways_make_one_row_and_what_is_sent_names_the_codec(tmp_path: Path):
    rows = read_lines(tmp_path, rtcstats(lambda s: sending(s) | receiving(s))).table.to_pylist()

    assert [(r["codec"], r["encode_p50_us"], r["decode_p50_us"]) for r in rows] == [
        ("AV1", 5_000, 2_000)
    ] * 3


def test_several_connections_are_several_calls(tmp_path: Path):
    one, other = rtcstats(connection="PC_0"), rtcstats(receiving, connection="PC_1")
    mixed = [line for pair in zip(one, other, strict=True) for line in pair]
    imported = read_lines(tmp_path, mixed)
    calls = {row["call_id"]: row["codec"] for row in imported.table.to_pylist()}

    assert imported.counts["connections"] == 2
    assert sorted(calls.values()) == ["AV1", "VP9"]


def test_deltas_are_completed_from_the_lines_before(tmp_path: Path):
    lines, before = [], {}
    for second in range(31):
        now = sending(second)
        changed = {
            name: {
                member: 0 if member == "timestamp" else value
                for member, value in report.items()
                if before.get(name, {}).get(member) != value
            }
            for name, report in now.items()
        }
        changed = {name: report for name, report in changed.items() if report}
        lines.append(stats_line(changed, time_ms=START_MS + 1000 * second))
        before = now

    assert "mimeType" not in lines[1]
    assert (
        read_lines(tmp_path, lines)
        .table.drop_columns("call_id")
        .equals(read_lines(tmp_path, rtcstats()).table.drop_columns("call_id"))
    )


def test_simulcast_is_one_picture_in_three_sizes(tmp_path: Path):
    def layers(second: int):
        reports = sending(second)
        first = reports["OT1"]
        reports["OT2"] = first | {"frameWidth": 320, "frameHeight": 180}
        # The largest layer comes and goes.
        reports["OT3"] = first | {
            "frameWidth": 1280,
            "frameHeight": 720,
            "framesEncoded": 3 * second,
        }
        return reports

    row = read_lines(tmp_path, rtcstats(layers)).table.to_pylist()[0]

    assert (row["width"], row["frames_encoded"], row["frames_dropped"]) == (640, 290, 10)
    assert row["encode_p50_us"] == 15_000
    assert row["limited_cpu_us"] == 2_000_000


def test_firefox_drops_and_chromes_old_reasons_count(tmp_path: Path):
    def old(second: int):
        outbound = sending(second)["OT1"]
        for member in ("qualityLimitationDurations", "mediaSourceId", "totalEncodeTime"):
            del outbound[member]
        outbound |= {"droppedFrames": 2 * second, "qualityLimitationReason": "cpu"}
        return {"OT1": outbound}

    row = read_lines(tmp_path, rtcstats(old)).table.to_pylist()[0]

    assert (row["frames_captured"], row["frames_dropped"]) == (310, 20)
    assert (row["limited_cpu_us"], row["limited_bandwidth_us"]) == (10_000_000, 0)
    assert row["encode_p50_us"] is row["codec"] is None


def test_legacy_statistics_are_read_from_their_texts(tmp_path: Path):
    def legacy(second: int):
        return {
            "ssrc_1_send": {
                "type": "ssrc",
                "mediaType": "video",
                "framesEncoded": str(20 * second),
                "googAvgEncodeMs": "12",
                "googFrameWidthSent": "640",
                "googFrameHeightSent": "480",
                "googFrameRateInput": "30",
                "googCpuLimitedResolution": "true" if second <= 5 else "false",
                "googBandwidthLimitedResolution": "false",
                "googCodecName": "VP8",
                "codecImplementationName": "libvpx",
            },
            "ssrc_2_recv": {
                "type": "ssrc",
                "mediaType": "video",
                "framesDecoded": str(25 * second),
                "googDecodeMs": "3",
            },
        }

    row = read_lines(tmp_path, rtcstats(legacy)).table.to_pylist()[0]

    assert (row["codec"], row["encoder"], row["height"]) == ("VP8", "libvpx", 480)
    assert (row["encode_p50_us"], row["decode_p50_us"]) == (12_000, 3_000)
    assert (row["frames_captured"], row["frames_encoded"], row["frames_dropped"]) == (300, 200, 100)
    assert (row["limited_cpu_us"], row["limited_bandwidth_us"]) == (5_000_000, 0)


def test_chromes_own_rtcstats_dump_is_read(tmp_path: Path):
    """Two lines of header; the reports are stamped, the lines only relatively."""
    lines = ["RTCStatsDump", '{"fileFormat":3}']
    lines.append(json.dumps(["create", None, {"hardwareConcurrency": 4, "deviceMemory": 4}, 1.5]))
    lines += [json.dumps(["getStats", "8-1", sending(s), 1000.25]) for s in range(31)]
    imported = read_lines(tmp_path, lines)

    assert imported.counts == {"connections": 1, "lines": 33, "rows": 3, "samples": 31}
    assert {(r["cores"], r["memory_bytes"]) for r in imported.table.to_pylist()} == {(4, 4 << 30)}


def test_a_line_may_be_one_plain_result(tmp_path: Path):
    as_lists = [
        json.dumps([{"id": name} | report for name, report in sending(s).items()])
        for s in range(31)
    ]
    as_objects = [json.dumps(sending(s)) for s in range(31)]

    for lines in (as_lists, as_objects):
        assert read_lines(tmp_path, lines).table["frames_encoded"].to_pylist() == [290] * 3


def test_sound_against_picture_is_measured_where_there_is_one_of_each(tmp_path: Path):
    def played(second: int):
        reports = receiving(second)
        reports["IT1"]["estimatedPlayoutTimestamp"] = 3_900_000_000_000 + second * 1000
        sound = {"type": "inbound-rtp", "kind": "audio"}
        reports["IA1"] = sound | {"estimatedPlayoutTimestamp": 3_900_000_000_040 + second * 1000}
        return reports

    assert (
        read_lines(tmp_path, rtcstats(played)).table["av_offset_p95_us"].to_pylist() == [40_000] * 3
    )

    def of_two(second: int):
        return played(second) | receiving(second, name="IT2")

    with_two = rtcstats(lambda s: {**of_two(s), "IT2": played(s)["IT1"]})
    assert read_lines(tmp_path, with_two).table["av_offset_p95_us"].to_pylist() == [None] * 3


def test_gzip_is_unpacked_and_the_same_dump_has_the_same_calls(tmp_path: Path):
    text = ("\n".join(rtcstats()) + "\n").encode()
    plain, packed = read_text(tmp_path, text), read_text(tmp_path, gzip.compress(text), name="z.gz")

    assert packed.table.num_rows == 3
    assert read_text(tmp_path, text, name="other name").table.equals(plain.table)


def test_nothing_but_statistics_leaves_the_dump(tmp_path: Path):
    lines = [
        json.dumps(
            ["identity", None, {"userId": "somebody", "userAgent": "(Linux; Android 9; <Q>)"}, 0]
        ),
        *rtcstats(lambda s: {**sending(s), "LC": {"type": "local-candidate", "ip": "192.0.2.7"}}),
    ]
    text = json.dumps(read_lines(tmp_path, lines).table.to_pylist())

    assert "somebody" not in text
    assert "192.0.2" not in text
    assert '"device_model": "Q"' in text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff" * 500,
        b"hello",
        b"<xml/>",
        b"{",
        b"[1, 2",
        b"{}not",
        b"a,b\n1,2\n",
        b"\x1f\x8b\x08",
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, content):
    with pytest.raises(RemoteError):
        read_text(tmp_path, content)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(LocalError, match="cannot read"):
        read_dump(tmp_path / "none")
    with pytest.raises(LocalError, match="cannot read"):
        read_dump(tmp_path)
