"""Whatever is set, reported and measured, in any order and at any time: a stream goes on, and switches rarely."""

from __future__ import annotations

import itertools
from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationReason
from codecpilot.rtc.adaptation.decode_report import DecodeReport
from codecpilot.rtc.adaptation.health import DeviceHealth
from codecpilot.rtc.adaptation.operations import EVERIES, ROWS
from codecpilot.rtc.adaptation.settings import SenderLimits
from codecpilot.rtc.rtp.rtcp_decode_report import DecodeReportMessage

from tests.rtc.fakes import AV1, H264, IDENTITY
from tests.rtc.test_rate_adaptation import MICRO, Stream

# Ours: two at once, and then one in five seconds; what was set by hand is not counted.
FIRST_SWITCHES, SWITCH_US = 3, 5 * MICRO

ANY_US = st.sampled_from([-(10**12), -1, 0, 1, 1_000, 25_000, 33_000, 100_000, 10**7, 10**18])
ANY_COUNT = st.sampled_from([-5, 0, 1, 3, 30, 10**9])
ANY_RATIO = st.none() | st.floats() | st.sampled_from([0.0, 0.1, 0.5, 1.0])
SIDES = st.sampled_from([None, 2, 3, 64, 200, 65_536])
REPORTS = st.builds(
    DecodeReport.clamped,
    codec=st.sampled_from(Codec),
    interval_us=ANY_US,
    decode_p50_us=ANY_US,
    decode_p95_us=ANY_US,
    frames_decoded=ANY_COUNT,
    frames_dropped=ANY_COUNT,
    waiting_frames=ANY_COUNT,
    playout_lag_us=ANY_US,
    width=ANY_COUNT,
    height=ANY_COUNT,
    av1_decode_us=st.none() | ANY_US,
)
HEALTH = st.builds(
    DeviceHealth,
    time_us=ANY_US,
    cpu_ratio=ANY_RATIO,
    cpu_pressure_ratio=ANY_RATIO,
    battery_ratio=ANY_RATIO,
    on_power=st.none() | st.booleans(),
    frequency_ratio=ANY_RATIO,
    temperature_c=ANY_RATIO,
    has_hardware_av1=st.none() | st.booleans(),
)
LIMITS = st.builds(
    SenderLimits,
    max_bps=st.sampled_from([None, 1, 10_000, 300_000, 10**10]),
    max_width=SIDES,
    max_height=SIDES,
    max_fps=st.sampled_from([None, 1, 1.5, 15, 29.97, 120, 1000]),
)


class AnyOrder(RuleBasedStateMachine):
    """A camera of a fake encoder; everything around it does as it likes."""

    @initialize(
        codecs=st.sampled_from([(AV1, H264), (H264, AV1)]),
        fps=st.sampled_from([1, 30, 120]),
        preset=st.sampled_from(["auto", "default", "ultralow"]),
        target_bps=st.sampled_from([10_000, 100_000, 600_000]),
    )
    def begin(self, **chosen):
        self.stream = Stream(**chosen)
        self.core = self.stream.core
        self.size = (320, 180)
        self.told = []
        self.run()

    @rule(report=REPORTS, ssrc=st.sampled_from([IDENTITY.ssrc, 5]), count=st.sampled_from([1, 30]))
    def report(self, report, ssrc, count):
        message = DecodeReportMessage(ssrc=1, media_ssrc=ssrc, report=report)
        for _ in range(count):
            self.core.handle_rtcp(message, now_us=self.stream.now_us)
        self.run()

    @rule(health=HEALTH, count=st.sampled_from([1, 12]))
    def look(self, health, count):
        for _ in range(count):
            self.core.handle_health(health, now_us=self.stream.now_us)
        self.run()

    @rule(limits=LIMITS)
    def limit(self, limits):
        self.core.set_limits(limits)
        self.run()

    @rule(
        codec=st.sampled_from([None, *Codec]),
        preset=st.sampled_from([None, "auto", *ROWS]),
        scale=st.sampled_from([None, 1, 0.5, Fraction(1, 4), Fraction(1, 3), Fraction(1, 1000)]),
    )
    def set_by_hand(self, codec, preset, scale):
        self.core.set_codec(codec)
        self.core.set_preset(preset)
        self.core.set_scale(scale)
        self.run()
        if codec is not None:
            assert {job.codec for job in self.stream.jobs} <= {codec}

    @rule(
        size=st.sampled_from([(320, 180), (64, 64), (66, 50), (180, 320), (2, 2), (3, 5), (1, 200)])
    )
    def turn(self, size):
        self.size = size
        self.run()

    @rule(encode_us=st.sampled_from([1, 5_000, 40_000, 300_000]))
    def take(self, encode_us):
        self.stream.encode_us = encode_us
        self.run()

    @invariant()
    def only_what_there_is_is_used(self):
        for job in self.stream.jobs:
            assert job.codec in set(Codec)
            assert job.preset in ROWS
            assert 0 < job.scale <= 1
            assert job.every >= EVERIES[0]
            assert all(0 < side <= of for side, of in zip(job.size, (320, 320), strict=True))
        self.stream.jobs.clear()

    @invariant()
    def another_codec_begins_with_a_key_frame(self):
        frames = self.stream.frames
        for before, after in itertools.pairwise(frames):
            assert after.key or after.codec is before.codec
        del frames[:-1]

    @invariant()
    def switches_are_few(self):
        by_itself = [d for d in self.told if d.reason is not AdaptationReason.APPLICATION]
        codecs = [d.operation.codec for d in self.told]
        switches = sum(
            after is not before and self.told[at].reason is not AdaptationReason.APPLICATION
            for at, (before, after) in enumerate(itertools.pairwise(codecs), 1)
        )
        elapsed_us = self.stream.now_us - MICRO
        assert switches <= min(len(by_itself), FIRST_SWITCHES + elapsed_us // SWITCH_US)

    def run(self):
        """For three pictures at least."""
        seconds = max(0.3, 3 * self.stream.gap_us / MICRO)
        self.stream.run(seconds, width=self.size[0], height=self.size[1])
        self.told += self.core.poll_adaptations()

    def teardown(self):
        """Left alone again, pictures go on."""
        if not hasattr(self, "stream"):
            return
        self.core.set_limits(SenderLimits())
        for leave in (self.core.set_codec, self.core.set_preset, self.core.set_scale):
            leave(None)
        self.core.set_target(600_000)
        self.stream.encode_us = 1_000
        self.stream.run(2, width=320, height=180)
        before = len(self.stream.frames)
        self.stream.run(6, width=320, height=180)
        assert len(self.stream.frames) - before >= 2


AnyOrder.TestCase.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)
TestAnyOrder = AnyOrder.TestCase
