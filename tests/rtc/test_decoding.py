"""A receiver whose decoder does not keep up: what it leaves out, asks for and tells, in virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decode_report import DecodeReport
from codecpilot.rtc.messages import ReceivedFrame
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch
from codecpilot.rtc.rtp.rtcp import (
    DecodeReportMessage,
    PictureLossIndication,
    ReferencePictureSelection,
    RtcpMessage,
    parse_rtcp,
)

from tests.rtc.fakes import AV1, FRAME_US, H264, IDENTITY, Pair

FAST_US = 2_000
TWELVE_FPS_US = 83_333


class SlowPair(Pair):
    """A pair whose sender hears nothing of the decoder, so that it never helps; and what the receiver said."""

    def __init__(self, **settings) -> None:
        super().__init__(marks=True, decode_reports=True, **settings)
        self.said: list[tuple[int, RtcpMessage]] = []
        self.lags_us: list[tuple[int, int]] = []

    def _to_sender(self, data: bytes) -> None:
        messages = parse_rtcp(data)
        self.said += [(self.now_us, message) for message in messages]
        if not any(isinstance(message, DecodeReportMessage) for message in messages):
            super()._to_sender(data)

    def _decoded(self, frame: ReceivedFrame, decode_us: int) -> None:
        super()._decoded(frame, decode_us)
        self.lags_us.append((self.now_us, self.now_us - frame.complete_us))

    def slow(self, seconds: float, decode_us: int | Callable[[ReceivedFrame], int]) -> None:
        """Run with a decoder that takes so long."""
        self.decode_us = decode_us if callable(decode_us) else lambda frame: decode_us
        self.run(seconds)

    def count(self, kind: type[RtcpMessage], *, since_us: int = 0) -> int:
        return sum(isinstance(m, kind) for t, m in self.said if t >= since_us)

    def reports(self, *, since_us: int = 0) -> list[tuple[int, DecodeReport]]:
        return [
            (t, m.report)
            for t, m in self.said
            if t >= since_us and isinstance(m, DecodeReportMessage)
        ]

    def gaps_us(self, *, since_us: int) -> list[int]:
        """Between pictures that were ready from then on."""
        times = [shown.decoded_us for shown in self.shown if shown.decoded_us >= since_us]
        return [later - earlier for earlier, later in pairwise(times)]


def started(**settings) -> SlowPair:
    pair = SlowPair(**settings)
    pair.run(3)
    assert pair.receiver.counters.framesDroppedBehind == 0
    return pair


def test_a_decoder_with_time_to_spare_leaves_nothing_out_and_asks_for_nothing():
    pair = started()
    pair.slow(5, 25_000)
    assert pair.receiver.counters.framesDroppedBehind == pair.receiver.counters.catchUps == 0
    assert pair.count(ReferencePictureSelection) == 0
    assert pair.receiver.counters.framesDecoded == pytest.approx(8 * 30, abs=3)


def test_a_decoder_at_12_fps_shows_young_pictures_without_freezes_and_key_frames():
    pair = started()
    keys = pair.receiver.counters.keyFramesDecoded
    since_us = pair.now_us
    pair.slow(10, TWELVE_FPS_US)
    lags_us = [lag_us for t, lag_us in pair.lags_us if t >= since_us]
    assert 300_000 < max(lags_us) <= 600_000
    assert max(pair.gaps_us(since_us=since_us)) <= 2 * TWELVE_FPS_US
    assert pair.receiver.counters.keyFramesDecoded == keys
    assert 10 <= pair.receiver.counters.catchUps <= 30
    left_out = pair.receiver.counters.framesDroppedBehind
    assert left_out == pair.receiver.counters.framesDropped
    assert left_out == pytest.approx(10 * (30 - 12), rel=0.1)
    # One request a catch-up: none is asked again before its answer can be here.
    asked = pair.count(ReferencePictureSelection)
    assert pair.receiver.counters.catchUps <= asked <= pair.receiver.counters.catchUps + 2
    assert pair.count(PictureLossIndication) <= 1  # that of the start


def test_the_decoder_goes_on_from_key_frames_where_there_is_no_reference():
    pair = started(codecs=(H264,))
    since_us = pair.now_us
    pair.slow(10, TWELVE_FPS_US)
    assert max(lag_us for t, lag_us in pair.lags_us if t >= since_us) <= 650_000
    assert pair.count(ReferencePictureSelection) == 0
    asked = pair.count(PictureLossIndication, since_us=since_us)
    assert 8 <= asked <= 30
    assert max(pair.gaps_us(since_us=since_us)) <= 400_000


def test_frames_that_no_other_needs_are_left_out_first():
    layers = ResilienceSettings(temporal_layers=Switch.ON)
    pair = started(resilience=layers)
    since_us = pair.now_us
    # Every second frame can be decoded in time, each one cannot.
    pair.slow(6, 50_000)
    assert pair.receiver.counters.catchUps == 0
    assert pair.count(ReferencePictureSelection) == 0
    assert max(lag_us for t, lag_us in pair.lags_us if t >= since_us) <= 150_000
    left_out = pair.receiver.counters.framesDroppedBehind
    assert left_out == pytest.approx(6 * (30 - 20), rel=0.15)
    upper = [frame for frame in pair.received if frame.temporal_id > 0]
    assert len(upper) > 60  # those before it was slow, and what it has time for


def test_a_short_stall_of_the_decoder_is_caught_up_with_and_not_asked_about():
    pair = started()
    stalls = iter([400_000])
    pair.slow(3, lambda frame: next(stalls, FAST_US))
    assert pair.receiver.counters.framesDroppedBehind == 0
    assert pair.count(ReferencePictureSelection) == 0
    assert pair.lags_us[-1][1] == FAST_US


def test_where_no_answer_comes_nothing_older_than_half_a_second_is_decoded():
    pair = started()
    pair.feedback.drop = lambda data: True
    since_us = pair.now_us
    pair.slow(3, TWELVE_FPS_US)
    assert max(lag_us for t, lag_us in pair.lags_us if t >= since_us) <= 500_000 + TWELVE_FPS_US
    assert pair.receiver.counters.framesDroppedBehind > 10
    pair.feedback.drop = lambda data: False
    answered_us = pair.now_us
    pair.slow(1, FAST_US)
    assert min(t for t, _ in pair.lags_us if t > answered_us) < answered_us + 700_000


def test_after_it_was_slow_the_decoder_shows_everything_again():
    pair = started()
    pair.slow(5, TWELVE_FPS_US)
    pair.slow(1, FAST_US)
    dropped = pair.receiver.counters.framesDropped
    since_us = pair.now_us
    pair.slow(3, FAST_US)
    assert pair.receiver.counters.framesDropped == dropped
    assert max(pair.gaps_us(since_us=since_us)) <= FRAME_US + 2_000


def test_losses_are_not_taken_for_a_slow_decoder():
    pair = SlowPair()
    pair.media.loss = 0.1
    pair.slow(10, FAST_US)
    assert pair.receiver.counters.framesDroppedBehind == 0
    assert all(report.waiting_frames <= 2 for _, report in pair.reports())
    assert all(report.frames_dropped == 0 for _, report in pair.reports())


def test_a_report_a_second_says_what_was_decoded():
    pair = started()
    pair.slow(5, 7_000)
    times = [t for t, _ in pair.reports()]
    assert all(900_000 <= later - earlier <= 1_100_000 for earlier, later in pairwise(times))
    report = pair.reports()[-1][1]
    assert report == DecodeReport(
        codec=Codec.AV1,
        interval_us=report.interval_us,
        decode_p50_us=7_000,
        decode_p95_us=7_000,
        frames_decoded=report.frames_decoded,
        frames_dropped=0,
        waiting_frames=0,
        playout_lag_us=7_000,
        width=64,
        height=48,
    )
    assert 29 <= report.frames_decoded <= 31
    message = next(m for _, m in pair.said if isinstance(m, DecodeReportMessage))
    assert (message.ssrc, message.media_ssrc) == (3333, IDENTITY.ssrc)


def test_a_slow_decoder_is_told_of_within_a_second_and_twice_a_second():
    pair = started()
    since_us = pair.now_us
    pair.slow(4, TWELVE_FPS_US)
    reports = pair.reports(since_us=since_us)
    first = next(t for t, r in reports if r.decode_p50_us == TWELVE_FPS_US)
    assert first - since_us < 1_200_000
    later = [r for _, r in reports[2:]]
    assert len(reports) >= 7
    assert all(r.decode_p50_us == r.decode_p95_us == TWELVE_FPS_US for r in later)
    assert all(5 <= r.frames_decoded <= 7 for r in later)
    assert sum(r.frames_dropped for r in later) > 10
    assert max(r.waiting_frames for r in later) >= 5
    assert max(r.playout_lag_us for r in later) > 200_000


def test_a_decoder_that_stands_is_told_of():
    pair = started()
    since_us = pair.now_us
    pair.slow(4, 10_000_000)
    reports = [r for _, r in pair.reports(since_us=since_us)]
    assert len(reports) >= 3
    assert reports[-1].frames_decoded == 0
    assert reports[-1].decode_p50_us > 2_000_000


def test_nothing_is_told_of_a_stream_that_paused_or_where_it_was_not_agreed():
    pair = started()
    pair.run(2, capture=False)
    since_us = pair.now_us
    pair.run(3, capture=False)
    assert pair.reports(since_us=since_us) == []
    plain = Pair(marks=True)
    plain.decode_us = lambda frame: TWELVE_FPS_US
    plain.run(5)
    assert plain.receiver.counters.framesDroppedBehind > 0
    assert plain.probed == []


def test_while_h264_is_received_a_kept_key_frame_tells_what_av1_would_take():
    pair = started(codecs=(AV1, H264))
    factor = 20
    pair.decode_us = lambda f: (
        factor * ((3_000 if f.key else 2_000) if f.codec is Codec.AV1 else 500)
    )
    factor = 1
    pair.sender.request_key()
    pair.run(3)
    factor = 20
    pair.run(2)
    pair.sender.set_codec(Codec.H264)
    left_us = pair.now_us
    pair.run(26)
    reports = pair.reports(since_us=left_us)
    assert all(f.codec is Codec.AV1 and f.key for f in pair.probed)
    assert len(pair.probed) == 3  # after 5, 12.5 and 24 s
    told = [(t, r.av1_decode_us) for t, r in reports if r.av1_decode_us is not None]
    assert 5_000_000 <= told[0][0] - left_us <= 6_500_000
    assert {us for _, us in told} == {40_000}
    factor = 2
    pair.run(17)
    assert pair.reports()[-1][1].av1_decode_us == 4_000
    pair.sender.set_codec(Codec.AV1)
    count = len(pair.probed)
    pair.run(8)
    assert pair.reports()[-1][1].av1_decode_us is None
    assert pair.reports()[-1][1].codec is Codec.AV1
    assert count == len(pair.probed) == 4


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_decoder_takes_nothing_is_decoded_in_vain_and_it_recovers(seed):
    """The fake decoder refuses frames whose references it has not; the pair refuses timers that change nothing."""
    rng = random.Random(seed)
    switch = rng.choice([Switch.ON, Switch.OFF])
    pair = SlowPair(seed=seed, resilience=ResilienceSettings(temporal_layers=switch))
    pair.media.loss = rng.choice([0.0, 0.0, 0.05])
    for _ in range(6):
        usual_us = int(10 ** rng.uniform(3, 5.6))
        pair.slow(1, lambda frame, usual_us=usual_us: int(usual_us * rng.uniform(0.5, 2)))
    pair.media.loss = 0.0
    pair.slow(3, FAST_US)
    dropped = pair.receiver.counters.framesDropped
    since_us = pair.now_us
    pair.slow(2, FAST_US)
    assert pair.receiver.counters.framesDropped == dropped
    assert max(pair.gaps_us(since_us=since_us)) <= 2 * FRAME_US
    assert len(pair.gaps_us(since_us=since_us)) >= 50
    assert pair.receiver.counters.framesDroppedBehind <= pair.receiver.counters.framesDropped
    # All that was decoded came within half a second and what the decoder itself took.
    assert max(lag_us for _, lag_us in pair.lags_us) <= 500_000 + 2 * 800_000
