"""A stream that begins as both devices' scores say, and goes on from there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationDecision, AdaptationReason
from codecpilot.rtc.adaptation.quality_limitation import QualityLimitationReason
from codecpilot.rtc.adaptation.selector import IMPROVE_US
from codecpilot.rtc.adaptation.settings import AdaptationSettings, SenderLimits, StartPoint
from codecpilot.rtc.adaptation.start_hold import StartHold

from tests.rtc.adaptation.reports import decode_report
from tests.rtc.test_rate_adaptation import Stream

START = {"codec": Codec.AV1, "preset": "low", "max_width": 480, "max_height": 270, "max_fps": 30.0}


def begun(**changes: object) -> Stream:
    start = StartPoint(**{**START, **changes})
    return Stream(preset="auto", adaptation=AdaptationSettings(start=start))


def told(stream: Stream) -> list[AdaptationDecision]:
    return stream.core.poll_adaptations()


def test_it_begins_with_codec_preset_and_size_of_the_start():
    stream = begun()
    stream.run(1)
    (first,) = told(stream)
    assert (first.operation.codec, first.operation.preset) == (Codec.AV1, "low")
    assert (first.size, first.operation.every) == ((480, 270), 1)
    assert first.reason is AdaptationReason.PRIOR
    reason = stream.core.counters.qualityLimitationReason
    assert reason is QualityLimitationReason.OTHER


def test_a_device_that_is_seen_to_carry_more_gets_the_whole_picture_once_and_for_all():
    stream = begun(max_fps=15.0)
    stream.encode_us = 4_000
    stream.run(3)
    first = told(stream)[-1]
    assert (first.size, first.operation.every) == ((480, 270), 2)
    stream.run(7)
    wider = next(d for d in told(stream) if d.size == (640, 360))
    assert IMPROVE_US <= wider.time_us - first.time_us <= IMPROVE_US + 1_500_000
    assert (wider.reason, wider.operation.every) == (AdaptationReason.SPARE_TIME, 1)
    stream.run(5)
    assert all(d.size == (640, 360) for d in told(stream))
    assert stream.core.counters.qualityLimitationReason is QualityLimitationReason.NONE


def test_a_device_that_is_as_slow_as_it_was_taken_for_stays_there():
    stream = begun()
    # 0.5 of a frame interval for 480x270: 640x360 would take 0.9.
    stream.encode_us = 16_600
    stream.run(15)
    assert {d.size for d in told(stream)} == {(480, 270)}


@pytest.mark.parametrize(("us", "size"), [(2_000, (640, 360)), (17_000, (480, 270))])
def test_where_the_peer_sets_the_start_its_reports_end_it(us: int, size: tuple[int, int]):
    stream = begun(is_peers=True)
    stream.run(8)
    assert {d.size for d in told(stream)} == {(480, 270)}
    for _ in range(7):
        stream.core.handle_decode_report(decode_report(Codec.AV1, us), now_us=stream.now_us)
        stream.run(1)
    assert (stream.jobs[-1].size or (640, 360)) == size


@pytest.mark.parametrize(("is_peers", "returns"), [(False, True), (True, False)])
def test_h264_of_the_start_is_left_by_what_is_measured_or_once_the_peer_has_earned_it(
    is_peers: bool, returns: bool
):
    stream = begun(codec=Codec.H264, preset="default", is_peers=is_peers)
    stream.run(0.5)
    assert told(stream)[0].operation.codec is Codec.H264
    stream.run(9)
    assert (stream.core.codec.codec is Codec.AV1) is returns


def test_the_application_has_the_last_word():
    start = AdaptationSettings(start=StartPoint(**{**START, "preset": "high"}))
    capped = Stream(preset="low", adaptation=start)
    capped.core.set_limits(SenderLimits(max_width=320))
    capped.run(10)
    assert {job.preset for job in capped.jobs} == {"low"}
    assert {job.size for job in capped.jobs} == {(320, 180)}
    off = Stream(preset="high", adaptation=AdaptationSettings(enabled=False, start=start.start))
    off.run(1)
    assert (off.jobs[0].preset, off.jobs[0].size) == ("high", (640, 360))


def test_a_start_that_cannot_be_is_refused():
    for wrong in (
        {"preset": "auto"},
        {"preset": "warp"},
        {"max_width": 0},
        {"max_height": 1 << 20},
        {"max_fps": 0.0},
    ):
        with pytest.raises(LocalError, match=str(next(iter(wrong.values())))):
            StartPoint(**{**START, **wrong})


@pytest.mark.parametrize(("fps", "every"), [(24, 1), (30, 1), (36, 1), (48, 2), (60, 2), (15, 1)])
def test_the_hold_leaves_out_pictures_only_where_clearly_more_come(fps: int, every: int):
    assert StartHold(StartPoint(**START)).every(1_000_000 // fps) == every


@given(st.integers(2, 4000), st.integers(2, 4000))
def test_the_hold_fits_both_ways_round_and_enlarges_nothing(width: int, height: int):
    hold = StartHold(StartPoint(**START))
    across, along = hold.size((width, height)), hold.size((height, width))
    if width != height:
        assert across == along[::-1]
    assert max(across) <= 480
    assert min(across) <= 270
    assert across[0] <= width
    assert across[1] <= height
    hold.end()
    assert hold.size((width, height)) == (width, height)
