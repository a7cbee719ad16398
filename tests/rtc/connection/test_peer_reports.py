"""What a browser's page says over its data channel, read at a bounded rate."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyee import EventEmitter

from codecpilot.rtc.adaptation.browser_report import BrowserReport
from codecpilot.rtc.connection import peer_reports
from codecpilot.rtc.connection.peer_reports import PeerReports

TEXT = json.dumps(
    {
        "mid": "0",
        "codec": "AV1",
        "interval": 1.0,
        "framesReceived": 30,
        "framesDecoded": 12,
        "framesDropped": 6,
        "totalDecodeTime": 0.996,
    }
)


class Channel(EventEmitter):
    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    now = SimpleNamespace(us=0)
    monkeypatch.setattr(peer_reports, "now_us", lambda: now.us)
    return now


def test_channels_of_that_label_alone_are_read(clock: Any) -> None:
    told: list[BrowserReport] = []
    reports = PeerReports(told.append)
    ours, other = Channel("codecpilot-decode"), Channel("chat")
    for channel in (ours, other):
        reports.listen(channel)
        channel.emit("message", TEXT)
    (report,) = told
    assert report.mid == "0"
    assert report.report.decode_p50_us == 83_000


def test_a_flood_is_read_at_a_bounded_rate(clock: Any) -> None:
    told: list[BrowserReport] = []
    reports = PeerReports(told.append)
    for number in range(10_000):
        clock.us = number * 1000
        reports.handle_message(TEXT)
    assert 190 <= len(told) <= 221


def test_one_a_second_for_each_of_many_streams_is_read_whole(clock: Any) -> None:
    told: list[BrowserReport] = []
    reports = PeerReports(told.append)
    for second in range(10):
        clock.us = second * 1_000_000
        for _ in range(10):
            reports.handle_message(TEXT)
    assert len(told) == 100


@given(st.one_of(st.text(), st.binary()))
def test_what_is_no_report_is_left_out(message: str | bytes) -> None:
    told: list[BrowserReport] = []
    PeerReports(told.append).handle_message(message)
    assert told == []
