"""What an application sets of a SenderCore, and what that says of itself."""

from __future__ import annotations

from fractions import Fraction

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationReason
from codecpilot.rtc.adaptation.decode_report import DecodeReport
from codecpilot.rtc.adaptation.health import DeviceHealth
from codecpilot.rtc.adaptation.operation import Operation
from codecpilot.rtc.adaptation.quality_limitation import QualityLimitationReason
from codecpilot.rtc.adaptation.settings import AdaptationSettings, SenderLimits
from codecpilot.rtc.rtp.rtcp_decode_report import DecodeReportMessage
from codecpilot.rtc.sender import SenderCore

from tests.rtc.adaptation.reports import decode_report
from tests.rtc.fakes import AV1, H264, IDENTITY
from tests.rtc.test_rate_adaptation import Stream

FULL, HALF = Fraction(1), Fraction(1, 2)


def told(stream: Stream) -> list[tuple[Operation, AdaptationReason]]:
    return [(d.operation, d.reason) for d in stream.core.poll_adaptations()]


def report(decode_us: int) -> DecodeReport:
    return decode_report(
        Codec.AV1, decode_us, frames_decoded=12, frames_dropped=3, waiting_frames=4
    )


def test_the_first_decision_says_how_the_stream_begins_and_there_is_no_other_without_a_change():
    stream = Stream()
    stream.run(3)
    (decision,) = stream.core.poll_adaptations()
    assert decision.operation == Operation(codec=Codec.AV1) == stream.core.operation
    assert decision.reason is AdaptationReason.APPLICATION
    assert (decision.size, decision.layers, decision.refused) == ((640, 360), 1, ())
    assert stream.core.poll_adaptations() == []


def test_auto_begins_with_the_default_and_goes_straight_to_the_best_that_fits():
    stream = Stream(preset="auto")
    stream.run(6)
    first, second = told(stream)
    assert first[0].preset == "default"
    assert second == (
        Operation(codec=Codec.AV1, preset="best"),
        AdaptationReason.SPARE_TIME,
    )
    assert {job.preset for job in stream.jobs} == {"default", "best"}


@pytest.mark.parametrize("preset", ["default", "low"])
def test_a_preset_that_was_set_is_the_best_that_is_used(preset):
    stream = Stream(preset=preset)
    stream.run(8)
    assert {job.preset for job in stream.jobs} == {preset}
    stream.encode_us = 60_000
    stream.run(1)
    assert stream.core.operation != Operation(codec=Codec.AV1, preset=preset)


def test_switched_off_everything_stays_as_it_was_set():
    stream = Stream(preset="high", adaptation=AdaptationSettings(enabled=False))
    stream.encode_us = 90_000
    stream.run(3)
    low = DeviceHealth(time_us=0, battery_ratio=0.01, on_power=False, cpu_pressure_ratio=1.0)
    for _ in range(5):
        stream.core.handle_health(low, now_us=stream.now_us)
    stream.core.handle_decode_report(report(900_000), now_us=stream.now_us)
    stream.run(3)
    assert {(job.codec, job.preset, job.scale) for job in stream.jobs} == {
        (Codec.AV1, "high", FULL)
    }
    stream.core.set_preset("low")
    stream.core.set_scale(HALF)
    stream.run(1)
    assert (stream.jobs[-1].preset, stream.jobs[-1].scale) == ("low", HALF)


def test_what_is_set_by_hand_is_used_at_once_and_left_to_adaptation_again():
    stream = Stream(preset="auto")
    stream.run(1)
    stream.core.set_preset("low")
    stream.core.set_scale(HALF)
    stream.run(8)
    assert stream.core.operation == Operation(codec=Codec.AV1, preset="low", scale=HALF)
    stream.core.set_codec(Codec.H264)
    stream.run(0.1)
    assert stream.core.operation == Operation(codec=Codec.H264, scale=HALF)
    assert stream.jobs[-1].reason is AdaptationReason.APPLICATION
    for leave in (stream.core.set_preset, stream.core.set_scale, stream.core.set_codec):
        leave(None)
    stream.run(20)
    assert stream.core.operation == Operation(codec=Codec.AV1, preset="best")


def test_what_cannot_be_is_refused_and_changes_nothing():
    core = Stream(codecs=(AV1,)).core
    with pytest.raises(LocalError, match="preset 'fast' is none of auto, ultralow"):
        core.set_preset("fast")
    with pytest.raises(LocalError, match=r"scale 2 is outside \(0, 1\]"):
        core.set_scale(Fraction(2))
    with pytest.raises(LocalError, match="H264 was not negotiated, only AV1"):
        core.set_codec(Codec.H264)
    assert core.operation == Operation(codec=Codec.AV1)
    with pytest.raises(LocalError, match=r"cpu_budget_ratio 1\.5 is outside"):
        AdaptationSettings(cpu_budget_ratio=1.5)
    with pytest.raises(LocalError, match="max_fps 0 is outside"):
        SenderLimits(max_fps=0)
    with pytest.raises(LocalError, match="none of H264 was negotiated: AV1"):
        Stream(codecs=(AV1,), adaptation=AdaptationSettings(send_codecs=(Codec.H264,)))


def test_limits_bound_size_rate_and_pace_until_they_are_lifted():
    stream = Stream(target_bps=800_000)
    stream.run(1)
    stream.core.set_limits(SenderLimits(max_bps=200_000, max_width=500, max_height=200, max_fps=15))
    before = len(stream.jobs)
    stream.run(3)
    limited = stream.jobs[before:]
    assert {job.size for job in limited} == {(354, 200)}
    assert {job.target_bps for job in limited} == {200_000}
    assert 43 <= len(limited) <= 47
    assert {job.every for job in limited[2:]} == {2}
    assert {(f.width, f.height) for f in stream.frames[-20:]} == {(354, 200)}
    _, decision = stream.core.poll_adaptations()
    assert decision.size == (354, 200)
    assert (decision.operation.every, decision.reason) == (2, AdaptationReason.APPLICATION)
    stream.core.set_limits(SenderLimits())
    stream.run(2)
    assert stream.jobs[-1].size == (640, 360)
    assert stream.jobs[-1].target_bps == 800_000
    assert stream.jobs[-1].every == 1


def test_a_side_may_send_fewer_codecs_than_it_receives():
    stream = Stream(adaptation=AdaptationSettings(send_codecs=(Codec.H264,)))
    stream.run(3)
    assert {job.codec for job in stream.jobs} == {Codec.H264}


def test_a_low_battery_is_h264s_and_power_brings_av1_back():
    stream = Stream()
    stream.run(1)
    low = DeviceHealth(time_us=0, battery_ratio=0.1, on_power=False)
    stream.core.handle_health(low, now_us=stream.now_us)
    stream.run(0.5)
    assert stream.core.operation.codec is Codec.H264
    assert stream.core.counters.qualityLimitationReason is QualityLimitationReason.OTHER
    charged = DeviceHealth(time_us=0, battery_ratio=0.1, on_power=True)
    stream.core.handle_health(charged, now_us=stream.now_us)
    stream.run(0.6)
    assert stream.core.operation.codec is Codec.AV1
    reasons = [reason for _, reason in told(stream)]
    assert reasons[1:] == [AdaptationReason.BATTERY, AdaptationReason.POWER]


def test_a_slow_device_is_the_limit_until_it_recovers():
    stream = Stream()
    stream.run(2)
    stream.encode_us = 60_000
    stream.run(2)
    assert stream.core.counters.qualityLimitationReason is QualityLimitationReason.CPU
    assert AdaptationReason.ENCODE_LATENCY in [reason for _, reason in told(stream)]


def peer_is_slow(core: SenderCore, now_us: int, *, ssrc: int) -> None:
    message = DecodeReportMessage(ssrc=9, media_ssrc=ssrc, report=report(83_000))
    core.handle_rtcp(message, now_us=now_us)


@pytest.mark.parametrize(
    ("ssrc", "codec"), [(IDENTITY.ssrc, Codec.H264), (IDENTITY.ssrc + 1, Codec.AV1)]
)
def test_a_report_by_rtcp_counts_where_it_is_about_the_stream(ssrc, codec):
    stream = Stream()
    stream.run(3)
    peer_is_slow(stream.core, stream.now_us, ssrc=ssrc)
    stream.run(0.1)
    assert stream.core.codec.codec is codec


@pytest.mark.parametrize(
    ("scores", "codec", "preset"),
    [
        ({}, Codec.AV1, "default"),
        ({"own_score": 0.5}, Codec.AV1, "ultralow"),
        ({"own_score": 0.8}, Codec.AV1, "default"),
        ({"own_score": 0.95, "peer_score": 0.9}, Codec.AV1, "high"),
        ({"own_score": 0.2}, Codec.H264, "default"),
        ({"own_score": 0.95, "peer_score": 0.1}, Codec.H264, "default"),
    ],
)
def test_what_is_known_of_the_devices_beforehand_is_where_the_stream_begins(scores, codec, preset):
    stream = Stream(preset="auto", adaptation=AdaptationSettings(**scores))
    stream.run(1)
    operation, reason = told(stream)[0]
    assert (operation.codec, operation.preset) == (codec, preset)
    is_neutral = (codec, preset) == (Codec.AV1, "default")
    assert (reason is AdaptationReason.APPLICATION) is is_neutral


def test_the_order_of_codecs_is_the_applications_also_where_av1_would_look_better():
    stream = Stream(codecs=(H264, AV1), preset="auto")
    stream.run(20)
    assert {job.codec for job in stream.jobs} == {Codec.H264}
