"""What a browser's page says of its decoder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import RemoteError
from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.browser_report import MAX_CHARACTERS, read_browser_report
from codecpilot.rtc.adaptation.decode_report import MAX_FRAMES, MAX_US, DecodeReport

# As Chromium's page of docs/wire-format.md says it.
SAID: dict[str, Any] = {
    "mid": "1",
    "codec": "AV1",
    "interval": 1.0,
    "framesReceived": 30,
    "framesDecoded": 12,
    "framesDropped": 6,
    "totalDecodeTime": 0.996,
    "totalProcessingDelay": 3.0,
    "frameWidth": 640,
    "frameHeight": 360,
}

numbers = st.integers() | st.floats(allow_nan=False)


def read(**changes: Any) -> DecodeReport:
    said = read_browser_report(json.dumps(SAID | changes))
    assert said is not None
    assert said.mid == "1"
    return said.report


def test_a_decoder_that_is_behind_is_told_as_it_is():
    assert read() == DecodeReport(
        codec=Codec.AV1,
        interval_us=1_000_000,
        decode_p50_us=83_000,
        decode_p95_us=83_000,
        frames_decoded=12,
        frames_dropped=6,
        waiting_frames=12,
        playout_lag_us=250_000,
        width=640,
        height=360,
    )


def test_a_decoder_that_keeps_up_is_not_taken_for_a_slow_one_because_it_overlaps_frames():
    report = read(framesDecoded=30, framesDropped=0, totalDecodeTime=3.0)
    assert 27_000 < report.decode_p50_us <= 0.9 * 33_333
    quick = read(framesDecoded=30, framesDropped=0, totalDecodeTime=0.06)
    assert quick.decode_p50_us == 2_000


def test_a_decoder_that_stands_takes_at_least_the_interval():
    report = read(framesDecoded=0, framesDropped=0, totalDecodeTime=0, interval=2.5)
    assert (report.decode_p50_us, report.frames_decoded) == (2_500_000, 0)
    assert report.waiting_frames == 30


@pytest.mark.parametrize(
    "changes", [{"framesReceived": 0, "framesDecoded": 0}, {"codec": "VP8"}, {"codec": ""}]
)
def test_nothing_is_said_of_a_paused_stream_or_another_codec(changes):
    assert read_browser_report(json.dumps(SAID | changes)) is None


def test_a_page_may_leave_out_which_stream_it_is_and_what_it_does_not_count():
    least = {"codec": "H264", "interval": 1, "framesReceived": 3, "framesDecoded": 3}
    said = read_browser_report(json.dumps(least))
    assert said is not None
    assert said.mid is None
    assert (said.report.codec, said.report.frames_decoded) == (Codec.H264, 3)
    assert said.report.decode_p50_us == said.report.width == 0


def test_absurd_numbers_are_clamped():
    report = read(totalDecodeTime=1e300, framesDecoded=10**400, framesReceived=-1, interval=-5)
    assert report.frames_decoded == MAX_FRAMES
    assert report.interval_us == 100_000
    assert report.decode_p50_us <= MAX_US
    assert read(totalDecodeTime=10**400).decode_p50_us == MAX_US


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        "null",
        "{}",
        '{"codec": 7}',
        json.dumps(SAID | {"mid": 7}),
        json.dumps(SAID | {"framesDecoded": "30"}),
        json.dumps(SAID | {"framesDecoded": True}),
        json.dumps(SAID | {"interval": None}),
        json.dumps(SAID | {"interval": float("nan")}),
        "[" * 1_900,
        " " * (MAX_CHARACTERS + 1) + json.dumps(SAID),
    ],
)
def test_what_is_no_report_is_a_remote_error(text):
    with pytest.raises(RemoteError):
        read_browser_report(text)


@given(
    st.dictionaries(st.sampled_from(list(SAID)), st.none() | st.text() | numbers),
    st.sampled_from(["AV1", "H264"]),
)
def test_any_values_make_a_possible_report_or_a_remote_error(values, codec):
    try:
        read_browser_report(json.dumps(SAID | values | {"codec": codec}))
    except RemoteError:
        return


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    try:
        read_browser_report(text)
    except RemoteError:
        return
