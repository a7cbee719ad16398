"""What a peer says of its decoder, be it true or not, and what becomes of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationReason
from codecpilot.rtc.adaptation.decode_report import DecodeReport
from codecpilot.rtc.adaptation.settings import AdaptationSettings

from tests.rtc.adaptation.reports import decode_report
from tests.rtc.adaptation.virtual_device import MICRO, VirtualDevice

AV1, H264 = Codec.AV1, Codec.H264
S = 1_000_000
FAST_US, SLOW_US = 3_000, 83_000


def honest(
    slow: Callable[[float], bool], *, probes: bool = True, h264_too: bool = False
) -> Callable[[VirtualDevice], DecodeReport]:
    """A peer that takes 83 ms for AV1 of the full size while it is slow, in proportion for less."""

    def told(device: VirtualDevice) -> DecodeReport:
        is_slow = slow((device.now_us - MICRO) / S)
        av1_us, h264_us = (SLOW_US, SLOW_US) if is_slow else (FAST_US, 2_000)
        h264_us = h264_us if h264_too else 2_000
        codec = device.used.codec
        full_us = av1_us if codec is AV1 else h264_us
        scale = device.used.scale
        probe_us = av1_us if probes and codec is H264 else None
        return decode_report(
            codec,
            round(full_us * scale**2),
            probe_us=probe_us,
            width=round(640 * scale),
            height=round(360 * scale),
        )

    return told


def device(report: Callable[[VirtualDevice], DecodeReport | None], **settings) -> VirtualDevice:
    return VirtualDevice(**({"preset": "default", "report": report} | settings))


def codecs(stream: VirtualDevice) -> list[tuple[float, Codec]]:
    return [(at_s, operation.codec) for at_s, operation in stream.switches(codec=True)]


def test_a_peer_that_decodes_twelve_pictures_a_second_gets_h264_and_av1_when_it_recovers():
    stream = device(honest(lambda at_s: 20 <= at_s < 60)).run(95)
    (left_s, left), (back_s, back) = codecs(stream)
    assert (left, back) == (H264, AV1)
    assert 20 <= left_s <= 22
    assert 60 < back_s <= 90
    assert stream.choices[-1][2].reason is AdaptationReason.PEER_RECOVERED
    assert stream.choices[-2][2].reason is AdaptationReason.PEER_DECODE
    assert stream.choices[-2][2].value == pytest.approx(2.49, abs=0.01)


def test_without_a_probe_h264_that_decodes_faster_again_tells_as_much():
    def told(stream: VirtualDevice) -> DecodeReport:
        is_slow = 20 <= (stream.now_us - MICRO) / S < 32
        if stream.used.codec is AV1:
            return decode_report(AV1, SLOW_US if is_slow else FAST_US)
        return decode_report(H264, 20_000 if is_slow else 1_000)

    stream = device(told).run(95)
    (left_s, left), (back_s, back) = codecs(stream)
    assert (left, back) == (H264, AV1)
    assert 20 <= left_s <= 22
    # Sooner than it would be tried without knowing.
    assert 32 < back_s <= 38


def test_where_nothing_tells_av1_is_tried_ever_more_rarely():
    stream = device(honest(lambda at_s: at_s >= 5, probes=False)).run(600)
    tried = [at_s for at_s, codec in codecs(stream) if codec is AV1]
    gaps = [b - a for a, b in itertools.pairwise(tried)]
    assert 3 <= len(tried) <= 5
    assert all(later >= 1.8 * gap for gap, later in itertools.pairwise(gaps))
    left = [at_s for at_s, codec in codecs(stream) if codec is H264]
    # What is tried is over within two reports.
    assert all(at - since <= 4 for since, at in zip(tried, left[1:], strict=False))


def test_a_peer_slower_than_ever_is_not_tried_while_its_probes_say_so():
    stream = device(honest(lambda at_s: at_s >= 5)).run(300)
    assert [codec for _, codec in codecs(stream)] == [H264]


def test_one_report_that_is_a_little_too_much_changes_nothing_and_two_do():
    once = iter([35_000, FAST_US] * 20)
    stream = device(lambda d: decode_report(AV1, next(once))).run(35)
    assert codecs(stream) == []
    stream = device(
        lambda d: decode_report(d.used.codec, 31_000 if d.used.codec is AV1 else 2_000)
    ).run(5)
    assert [codec for _, codec in codecs(stream)] == [H264]


def test_frames_that_wait_or_are_dropped_make_one_report_enough():
    for more in ({"waiting_frames": 5}, {"frames_dropped": 4}):
        stream = device(lambda d, m=more: decode_report(AV1, 31_000, **m)).run(3)
        assert [codec for _, codec in codecs(stream)] == [H264]


def test_where_h264_does_not_hold_the_rate_the_peer_gets_a_smaller_picture():
    stream = device(honest(lambda at_s: at_s >= 5), target_bps=60_000).run(60)
    assert stream.used.codec is AV1 or stream.used.scale < 1
    operations = [operation for at_s, operation in stream.switches(since_s=6)]
    assert 1 <= len(stream.switches()) <= 3
    assert all(SLOW_US * operation.scale**2 / operation.every <= 30_000 for operation in operations)


def test_where_there_is_no_h264_the_peer_gets_a_smaller_picture_and_the_large_one_again():
    stream = device(honest(lambda at_s: 5 <= at_s < 30), codecs=(AV1,)).run(28)
    assert stream.used.codec is AV1
    assert stream.used.scale**2 / stream.used.every * SLOW_US <= 0.75 * 33_333
    stream.run(20)
    assert (stream.used.scale, stream.used.every) == (1, 1)
    assert len(stream.switches()) <= 4


def test_a_peer_that_is_doubted_beforehand_has_to_earn_av1():
    doubted = AdaptationSettings(peer_score=0.1)
    stream = device(honest(lambda at_s: False), settings=doubted).run(40)
    assert [codec for _, codec in codecs(stream)] == [AV1]
    assert 20 <= codecs(stream)[0][0] <= 30


def lies(stream: VirtualDevice) -> DecodeReport:
    """AV1 is dreadful while it is in use, and would be fine while it is not."""
    is_av1 = stream.used.codec is AV1
    return decode_report(
        stream.used.codec, 10_000_000 if is_av1 else 0, probe_us=None if is_av1 else 1
    )


def alternating(stream: VirtualDevice) -> DecodeReport:
    is_bad = stream.now_us // 300_000 % 2 == 0
    return decode_report(
        (AV1, H264)[stream.now_us // 700_000 % 2], 10_000_000 if is_bad else 0, waiting_frames=2_000
    )


@pytest.mark.parametrize("liar", [lies, alternating])
def test_a_peer_that_lies_forces_ever_fewer_switches(liar):
    stream = device(liar, report_each_us=250_000).run(600)
    times = [at_s for at_s, _ in stream.switches()]
    assert len(times) <= 24
    assert len([at_s for at_s in times if at_s >= 300]) <= 8
    for since_s in times:
        assert len([at_s for at_s in times if since_s <= at_s < since_s + 10]) <= 4


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(Codec)),
            st.integers(0, 2**40),
            st.one_of(st.none(), st.integers(-5, 2**40)),
            st.integers(-10, 10**6),
            st.integers(-10, 2**20),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_whatever_reports_say_switches_are_few_and_nothing_breaks(values):
    told = itertools.cycle(values)

    def absurd(stream: VirtualDevice) -> DecodeReport:
        codec, p50_us, probe_us, frames, side = next(told)
        return decode_report(
            codec,
            p50_us,
            probe_us=probe_us,
            frames_decoded=frames,
            frames_dropped=frames,
            waiting_frames=-frames,
            width=side,
            height=side,
        )

    stream = device(absurd, report_each_us=500_000).run(30)
    assert len(codecs(stream)) <= 4
    assert len(stream.switches()) <= 10


def test_reports_before_anything_was_sent_are_ignored():
    stream = VirtualDevice()
    stream.control.handle_report(decode_report(AV1, 10_000_000), now_us=stream.now_us)
    assert stream.run(2).choices == []
