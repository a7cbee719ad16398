"""What a decoder takes, from report to report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decode_monitor import (
    BEHIND_INTERVAL_US,
    BEHIND_WAIT_US,
    REPORT_INTERVAL_US,
    DecodeMonitor,
)
from codecpilot.rtc.adaptation.decode_report import DecodeReport

from tests.rtc.fakes import picture
from tests.rtc.playout.test_dependencies import frame

PICTURE = picture(0, width=640, height=360)


def decode(
    monitor: DecodeMonitor,
    times_us: list[int],
    *,
    start_us: int = 0,
    codec: Codec = Codec.AV1,
    wait_us: int = 0,
) -> int:
    """One frame after the other; returns when the last was through."""
    now_us = start_us
    for decode_us in times_us:
        one = replace(frame(0), codec=codec, complete_us=now_us - wait_us)
        monitor.given(one, wait_us=wait_us, now_us=now_us)
        now_us += decode_us
        monitor.ended()
        monitor.decoded(one, PICTURE, decode_us=decode_us, now_us=now_us)
    return now_us


def report(monitor: DecodeMonitor, now_us: int, *, waiting: int = 0) -> DecodeReport | None:
    return monitor.poll(waiting_frames=waiting, av1_decode_us=None, now_us=now_us)


def test_median_and_95th_percentile_are_of_the_interval():
    monitor = DecodeMonitor()
    decode(monitor, [1_000 * i for i in range(1, 21)])
    assert monitor.poll_timeout() == REPORT_INTERVAL_US
    assert report(monitor, REPORT_INTERVAL_US - 1) is None
    said = report(monitor, REPORT_INTERVAL_US, waiting=3)
    assert said == DecodeReport(
        codec=Codec.AV1,
        interval_us=REPORT_INTERVAL_US,
        decode_p50_us=10_000,
        decode_p95_us=19_000,
        frames_decoded=20,
        frames_dropped=0,
        waiting_frames=3,
        playout_lag_us=20_000,
        width=640,
        height=360,
    )
    decode(monitor, [5_000], start_us=REPORT_INTERVAL_US)
    said = report(monitor, 2 * REPORT_INTERVAL_US)
    assert said is not None
    assert (said.frames_decoded, said.decode_p95_us) == (1, 5_000)


@pytest.mark.parametrize(
    ("wait_us", "dropped", "interval_us"),
    [
        (BEHIND_WAIT_US, 0, REPORT_INTERVAL_US),
        (BEHIND_WAIT_US + 1, 0, BEHIND_INTERVAL_US),
        (0, 1, BEHIND_INTERVAL_US),
    ],
)
def test_reports_come_sooner_while_frames_wait_or_are_dropped(wait_us, dropped, interval_us):
    monitor = DecodeMonitor()
    decode(monitor, [2_000], wait_us=wait_us)
    monitor.dropped(dropped)
    assert monitor.is_behind == (interval_us == BEHIND_INTERVAL_US)
    assert monitor.poll_timeout() == interval_us
    said = report(monitor, interval_us)
    assert said is not None
    assert said.frames_dropped == dropped
    assert not monitor.is_behind


def test_a_frame_under_way_counts_where_it_takes_longer_than_usual():
    monitor = DecodeMonitor()
    now_us = decode(monitor, [2_000] * 3)
    monitor.given(frame(1), wait_us=0, now_us=now_us)
    said = report(monitor, REPORT_INTERVAL_US)
    assert said is not None
    assert (said.decode_p50_us, said.decode_p95_us) == (2_000, REPORT_INTERVAL_US - now_us)
    said = report(monitor, 2 * REPORT_INTERVAL_US)
    assert said is not None
    assert (said.frames_decoded, said.decode_p50_us) == (0, 2 * REPORT_INTERVAL_US - now_us)


def test_a_frame_that_just_came_after_a_pause_says_nothing():
    monitor = DecodeMonitor()
    decode(monitor, [2_000] * 3)
    assert report(monitor, REPORT_INTERVAL_US) is not None
    monitor.given(frame(1), wait_us=0, now_us=2 * REPORT_INTERVAL_US - 1_000)
    assert report(monitor, 2 * REPORT_INTERVAL_US) is None
    assert monitor.poll_timeout() is None


def test_a_frame_whose_source_is_gone_is_no_longer_under_way():
    monitor = DecodeMonitor()
    now_us = decode(monitor, [2_000])
    monitor.given(frame(1), wait_us=0, now_us=now_us)
    monitor.ended()
    said = report(monitor, REPORT_INTERVAL_US)
    assert said is not None
    assert said.decode_p95_us == 2_000


def test_after_a_switch_only_the_new_codec_counts():
    monitor = DecodeMonitor()
    now_us = decode(monitor, [90_000] * 8)
    monitor.dropped(5)
    decode(monitor, [1_000], start_us=now_us, codec=Codec.H264)
    assert monitor.usual_us == 1_000
    assert monitor.poll_timeout() == now_us + REPORT_INTERVAL_US
    said = report(monitor, now_us + REPORT_INTERVAL_US)
    assert said is not None
    assert (said.codec, said.decode_p50_us, said.frames_decoded) == (Codec.H264, 1_000, 1)
    assert said.frames_dropped == 0


def test_nothing_is_due_before_the_first_frame():
    monitor = DecodeMonitor()
    assert monitor.poll_timeout() is None
    assert report(monitor, 10**9) is None
    assert monitor.usual_us == 0
