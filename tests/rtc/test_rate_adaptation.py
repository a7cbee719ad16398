"""What SenderCore makes of its rate: pictures left out, the codec, and what statistics say of it."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec, EncodedFrame
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.ratecontrol.messages import DropReason
from codecpilot.rtc.adaptation.decisions import AdaptationReason
from codecpilot.rtc.adaptation.quality_limitation import QualityLimitationReason
from codecpilot.rtc.encoder_session import EncodeJob, EncoderSession
from codecpilot.rtc.playout.freezes import FreezeDetector
from codecpilot.rtc.rtp.extensions import ExtensionMap
from codecpilot.rtc.rtp.rtcp import PictureLossIndication, ReceiverEstimatedMaximumBitrate
from codecpilot.rtc.sender import SenderCore, SenderSettings

from tests.rtc.fakes import AV1, H264, IDENTITY, IDS, WALL_OFFSET_US, FakeEncoder, picture

MICRO = 1_000_000


class Stream:
    """A camera and a core whose jobs take encode_us; a receiver's REMB is what the path allows."""

    def __init__(
        self, *, codecs=(AV1, H264), target_bps: int = 400_000, fps: int = 30, **settings
    ) -> None:
        self.now_us, self.gap_us = MICRO, MICRO // fps
        self.core = SenderCore(
            settings=SenderSettings(
                identity=IDENTITY,
                cname="a",
                codecs=codecs,
                extensions=ExtensionMap(IDS),
                target_bps=target_bps,
                **settings,
            ),
            rng=random.Random(1),
            now_us=self.now_us,
            wall_offset_us=WALL_OFFSET_US,
        )
        self.session = EncoderSession(
            open_encoder=lambda codec, width, height: FakeEncoder(codec),
            controller=FrameController(),
        )
        self.encode_us = 5_000
        self.shrink = 1
        self.jobs: list[EncodeJob] = []
        self.frames: list[EncodedFrame] = []
        self.reasons: list[DropReason | None] = []
        self._busy: tuple[int, EncodeJob] | None = None

    def allow(self, bitrate_bps: int) -> None:
        remb = ReceiverEstimatedMaximumBitrate(
            sender_ssrc=9, bitrate_bps=bitrate_bps, ssrcs=(IDENTITY.ssrc,)
        )
        self.core.handle_rtcp(remb, now_us=self.now_us)

    def run(self, seconds: float, *, width: int = 640, height: int = 360) -> None:
        end_us = self.now_us + round(seconds * MICRO)
        while self.now_us < end_us:
            self.now_us += self.gap_us
            self._finish()
            captured = picture(self.now_us, width=width, height=height)
            self.reasons.append(self.core.handle_picture(captured))
            self._begin()
            self.core.poll_packets(now_us=self.now_us)

    def kept_us(self) -> list[int]:
        return [job.picture.capture_us for job in self.jobs]

    def _begin(self) -> None:
        job = self.core.poll_encode(now_us=self.now_us)
        if job is not None:
            self.jobs.append(job)
            self._busy = (self.now_us + self.encode_us, job)

    def _finish(self) -> None:
        if self._busy is not None and self._busy[0] <= self.now_us:
            (done_us, job), self._busy = self._busy, None
            result = self.session.run(job)
            if isinstance(result, EncodedFrame):
                width, height = result.width // self.shrink, result.height // self.shrink
                result = replace(result, width=width, height=height)
                self.frames.append(result)
            self.core.handle_encoded(result, now_us=done_us)
            self._begin()


def test_at_a_low_rate_every_second_or_third_picture_is_sent_and_the_others_are_counted():
    for target_bps, every in ((400_000, 1), (38_000, 2), (15_000, 3)):
        stream = Stream(target_bps=target_bps)
        stream.run(4)
        before, begin_us = stream.core.counters.framesLeftOut, stream.now_us
        stream.run(6)
        kept_us = [at_us for at_us in stream.kept_us() if at_us > begin_us]
        assert {b - a for a, b in itertools.pairwise(kept_us)} == {every * stream.gap_us}
        assert {job.every for job in stream.jobs[-50:]} == {every}
        counters = stream.core.counters
        assert counters.framesLeftOut - before == pytest.approx(180 * (1 - 1 / every), abs=1)
        assert counters.framesLeftOut == stream.reasons.count(DropReason.FRAME_RATE)
        assert counters.framesCaptured == len(stream.reasons)


def test_a_falling_and_rising_rate_changes_the_pace_without_a_freeze():
    stream, freezes = Stream(), FreezeDetector()
    for remb_bps, seconds in ((400_000, 3), (30_000, 4), (10_000, 4), (400_000, 5)):
        stream.allow(remb_bps)
        stream.run(seconds)
    assert {job.every for job in stream.jobs} == {1, 2, 3}
    assert stream.jobs[-1].every == 1
    for at_us in stream.kept_us():
        assert not freezes.shown(at_us)


def test_a_key_frame_that_was_asked_for_does_not_wait_for_its_turn():
    stream = Stream(target_bps=15_000)
    stream.run(4)
    while stream.reasons[-2:] != [DropReason.FRAME_RATE, None]:
        stream.run(0.01)
    pli = PictureLossIndication(sender_ssrc=9, media_ssrc=IDENTITY.ssrc)
    stream.core.handle_rtcp(pli, now_us=stream.now_us)
    stream.run(0.01)
    assert stream.reasons[-1] is None
    assert stream.jobs[-1].key


def test_h264_gives_way_to_av1_where_it_cannot_hold_the_rate_and_begins_with_a_key_frame():
    stream = Stream(codecs=(H264, AV1))
    stream.run(4)
    assert {job.codec for job in stream.jobs} == {Codec.H264}
    assert {job.reason for job in stream.jobs} == {AdaptationReason.APPLICATION}
    stream.allow(40_000)
    stream.run(3)
    assert (stream.jobs[-1].codec, stream.jobs[-1].reason) == (Codec.AV1, AdaptationReason.RATE)
    assert stream.core.counters.codecSwitches == 1
    first = next(frame for frame in stream.frames if frame.codec is Codec.AV1)
    assert first.key
    stream.allow(400_000)
    stream.run(20)
    assert stream.jobs[-1].codec is Codec.AV1
    stream.run(25)
    assert stream.jobs[-1].codec is Codec.H264
    assert stream.core.counters.codecSwitches == 2


def test_a_codec_that_the_application_set_stays_until_it_leaves_it_to_the_rate():
    stream = Stream(codecs=(H264, AV1))
    stream.core.set_codec(Codec.H264)
    stream.allow(40_000)
    stream.run(6)
    assert {job.codec for job in stream.jobs} == {Codec.H264}
    stream.core.set_codec(None)
    stream.run(6)
    assert stream.jobs[-1].codec is Codec.AV1


def test_a_codec_that_was_not_negotiated_is_refused_and_fixes_nothing():
    stream = Stream(codecs=(H264,))
    with pytest.raises(LocalError, match="AV1 was not negotiated, only H264"):
        stream.core.set_codec(Codec.AV1)
    assert stream.core.codec is H264


def test_statistics_say_what_limits_the_stream_and_for_how_long():
    stream = Stream()
    counters, begin_us = stream.core.counters, stream.now_us
    stream.run(2)
    assert counters.qualityLimitationReason is QualityLimitationReason.NONE
    stream.allow(100_000)
    stream.run(3)
    assert counters.qualityLimitationReason is QualityLimitationReason.BANDWIDTH
    stream.encode_us = 90_000
    stream.run(4)
    assert counters.qualityLimitationReason is QualityLimitationReason.CPU
    stream.encode_us = 5_000
    stream.allow(500_000)
    stream.run(30)
    assert counters.qualityLimitationReason is QualityLimitationReason.NONE
    durations_us = stream.core.quality_limitation_durations_us(now_us=stream.now_us)
    assert sum(durations_us.values()) == stream.now_us - begin_us
    assert durations_us[QualityLimitationReason.BANDWIDTH] == pytest.approx(3.2e6, abs=0.3e6)
    # Until the processor is fast again, and while the codec that was taken for it is held (10 s).
    assert durations_us[QualityLimitationReason.CPU] == pytest.approx(14.9e6, abs=0.5e6)
    assert durations_us[QualityLimitationReason.OTHER] == 0


def test_changes_of_the_coded_size_are_counted():
    stream = Stream()
    stream.run(2)
    assert stream.core.counters.qualityLimitationResolutionChanges == 0
    stream.run(2, width=320, height=180)
    assert stream.core.counters.qualityLimitationResolutionChanges == 0
    stream.shrink = 2
    stream.run(1, width=320, height=180)
    assert stream.core.counters.qualityLimitationResolutionChanges == 1
    stream.shrink = 1
    stream.run(1, width=320, height=180)
    assert stream.core.counters.qualityLimitationResolutionChanges == 2
