"""Pictures so small that AV1 cannot code them smaller still, or that nothing is left of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decode_report import DecodeReport
from codecpilot.rtc.adaptation.operation import Operation

from tests.rtc.adaptation.virtual_device import VirtualDevice
from tests.rtc.test_rate_adaptation import Stream

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
# AV1's default preset takes 1.0 and 1.7 of the frame interval.
SLOW_FACTORS = [280, 480]


@pytest.mark.parametrize("factor", SLOW_FACTORS)
def test_a_slow_device_sends_fewer_small_pictures_and_not_such_as_cannot_be_smaller(factor):
    device = VirtualDevice(
        size=(160, 90), target_bps=80_000, codecs=(Codec.AV1,), factor=lambda now_us: factor
    ).run(60)
    chosen = [operation for _, operation in device.switches()]
    assert {operation.scale for operation in chosen} == {1}
    assert 1 <= len(chosen) <= 2
    assert device.used.every in (2, 3)
    assert device.late_s(since_s=2) == 0


def test_of_pictures_between_the_sizes_half_is_chosen_and_a_quarter_is_not():
    # 128x72 is coded; 64x36 would be below AV1's least.
    device = VirtualDevice(
        size=(256, 144), target_bps=100_000, codecs=(Codec.AV1,), factor=lambda now_us: 400.0
    ).run(60)
    assert QUARTER not in {operation.scale for _, operation in device.switches()}
    assert device.used.scale == HALF


def test_a_scale_that_cannot_be_is_told_as_what_is_coded():
    stream = Stream()
    stream.core.set_scale(HALF)
    stream.run(1, width=160, height=90)
    assert stream.core.poll_adaptations()[-1].size == (160, 90)
    assert stream.core.operation.codec is Codec.AV1


def test_a_report_about_pictures_of_next_to_no_pixels_is_taken_as_any_other():
    stream = Stream()
    stream.core.set_codec(Codec.H264)
    stream.core.set_scale(QUARTER)
    stream.run(4, width=2, height=2)
    report = DecodeReport(
        codec=Codec.H264,
        interval_us=1_000_000,
        decode_p50_us=60_000,
        decode_p95_us=60_000,
        frames_decoded=9,
        frames_dropped=9,
        waiting_frames=9,
        playout_lag_us=0,
        width=2,
        height=2,
    )
    stream.core.handle_decode_report(report, now_us=stream.now_us)
    before = len(stream.jobs)
    stream.run(1, width=2, height=2)
    assert len(stream.jobs) - before in range(9, 16)
    assert stream.core.operation == Operation(codec=Codec.H264, scale=QUARTER, every=3)


def test_a_scale_may_be_told_as_a_float():
    stream = Stream()
    stream.core.set_scale(0.5)
    stream.run(1)
    assert {job.scale for job in stream.jobs} == {HALF}
