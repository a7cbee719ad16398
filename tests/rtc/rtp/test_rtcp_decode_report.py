from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decode_report import (
    MAX_FRAMES,
    MAX_INTERVAL_US,
    MAX_SIZE_PX,
    MAX_US,
    MIN_INTERVAL_US,
    DecodeReport,
)
from codecpilot.rtc.rtp.rtcp import (
    App,
    DecodeReportMessage,
    parse_rtcp,
    salvage_rtcp,
    serialize_rtcp,
)

REPORT = DecodeReport(
    codec=Codec.AV1,
    interval_us=500_000,
    decode_p50_us=83_000,
    decode_p95_us=90_000,
    frames_decoded=6,
    frames_dropped=3,
    waiting_frames=7,
    playout_lag_us=250_000,
    width=640,
    height=360,
    av1_decode_us=None,
)
MESSAGE = DecodeReportMessage(ssrc=1, media_ssrc=2, report=REPORT)
HEAD = "80cc000b" + "00000001" + "43504452"
WIRE = (
    HEAD
    + "00000002" + "0007a120" + "00014438" + "00015f90" + "0003d090" + "00000000"
    + "0006" + "0003" + "0280" + "0168" + "01" + "00" + "0007"
)  # fmt: skip

times_us = st.integers(0, MAX_US)
frames = st.integers(0, MAX_FRAMES)
sizes = st.integers(0, MAX_SIZE_PX)
decode_times_us = st.tuples(times_us, times_us).map(sorted)


@st.composite
def reports(draw: st.DrawFn) -> DecodeReport:
    p50_us, p95_us = draw(decode_times_us)
    return DecodeReport(
        codec=draw(st.sampled_from(Codec)),
        interval_us=draw(st.integers(MIN_INTERVAL_US, MAX_INTERVAL_US)),
        decode_p50_us=p50_us,
        decode_p95_us=p95_us,
        frames_decoded=draw(frames),
        frames_dropped=draw(frames),
        waiting_frames=draw(frames),
        playout_lag_us=draw(times_us),
        width=draw(sizes),
        height=draw(sizes),
        av1_decode_us=draw(st.none() | st.integers(1, MAX_US)),
    )


def test_known_bytes_of_a_report() -> None:
    assert serialize_rtcp([MESSAGE]).hex() == WIRE
    assert parse_rtcp(bytes.fromhex(WIRE)) == [MESSAGE]


@given(reports(), st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFFFFFFFF))
def test_any_report_survives_the_wire(report: DecodeReport, ssrc: int, media_ssrc: int) -> None:
    message = DecodeReportMessage(ssrc=ssrc, media_ssrc=media_ssrc, report=report)
    assert parse_rtcp(serialize_rtcp([message, message])) == [message, message]


@given(st.binary(min_size=36, max_size=36))
def test_whatever_the_fields_say_becomes_a_possible_report_or_a_remote_error(body: bytes) -> None:
    try:
        (message,) = parse_rtcp(bytes.fromhex(HEAD) + body)
    except RemoteError:
        assert body[32] not in (1, 2)
        return
    assert isinstance(message, DecodeReportMessage)
    report = message.report
    assert dataclasses.replace(report) == report  # which checks every range again
    assert report.decode_p50_us <= report.decode_p95_us


@given(st.data())
def test_damaged_reports_parse_or_raise_remote_error(data: st.DataObject) -> None:
    wire = bytearray(bytes.fromhex(WIRE))
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(wire[: data.draw(st.integers(0, len(wire)))])
    salvage_rtcp(cut)
    try:
        parse_rtcp(cut)
    except RemoteError:
        return


def test_absurd_values_are_clamped() -> None:
    absurd = HEAD + "00000002" + "ffffffff" * 5 + "ffff" * 4 + "02ffffff"
    (message,) = parse_rtcp(bytes.fromhex(absurd))
    assert message == DecodeReportMessage(
        ssrc=1,
        media_ssrc=2,
        report=DecodeReport(
            codec=Codec.H264,
            interval_us=MAX_INTERVAL_US,
            decode_p50_us=MAX_US,
            decode_p95_us=MAX_US,
            frames_decoded=MAX_FRAMES,
            frames_dropped=MAX_FRAMES,
            waiting_frames=MAX_FRAMES,
            playout_lag_us=MAX_US,
            width=MAX_SIZE_PX,
            height=MAX_SIZE_PX,
            av1_decode_us=MAX_US,
        ),
    )


def test_a_p95_below_the_p50_is_raised_to_it() -> None:
    wire = WIRE.replace("00015f90", "00000001")
    (message,) = parse_rtcp(bytes.fromhex(wire))
    assert isinstance(message, DecodeReportMessage)
    assert message.report.decode_p95_us == message.report.decode_p50_us == 83_000


def test_what_follows_the_fields_is_ignored() -> None:
    wire = "80cc000c" + WIRE[8:] + "55555555"
    assert parse_rtcp(bytes.fromhex(wire)) == [MESSAGE]


def test_a_truncated_report_and_an_unknown_codec_are_remote_errors() -> None:
    for wire in ("80cc000a" + WIRE[8:-8], WIRE[:-8] + "00000007", WIRE[:-8] + "03000007"):
        with pytest.raises(RemoteError):
            parse_rtcp(bytes.fromhex(wire))


@pytest.mark.parametrize(("subtype", "name"), [(1, b"CPDR"), (0, b"CPDQ")])
def test_other_applications_packets_stay_what_they_are(subtype: int, name: bytes) -> None:
    app = App(ssrc=1, subtype=subtype, name=name, data=b"\0" * 40)
    assert parse_rtcp(serialize_rtcp([app])) == [app]


def test_a_field_out_of_range_is_a_local_error() -> None:
    for ssrc in (-1, 1 << 32):
        with pytest.raises(LocalError):
            serialize_rtcp([dataclasses.replace(MESSAGE, media_ssrc=ssrc)])
