"""What AV1 would take, by a key frame that is decoded again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.av1_probe import (
    FIRST_INTERVAL_US,
    LONGEST_INTERVAL_US,
    Av1Probe,
)

from tests.rtc.playout.test_dependencies import frame

PIXELS = 640 * 360
KEY = frame(7, key=True)
H264 = replace(frame(9), codec=Codec.H264)


def left(*, key_us: int = 3_000, frames_us: tuple[int, ...] = (2_000,) * 20) -> Av1Probe:
    """AV1 was received, and the first frame of H.264 is decoded at 0."""
    probe = Av1Probe()
    probe.decoded(KEY, decode_us=key_us, pixels=PIXELS, now_us=-1_000_000)
    for decode_us in frames_us:
        probe.decoded(frame(8, 7), decode_us=decode_us, pixels=PIXELS, now_us=-1_000)
    probe.decoded(H264, decode_us=500, pixels=PIXELS, now_us=0)
    return probe


def probed(probe: Av1Probe, took_us: int | None) -> int:
    """Have the probe that is due next; returns when it was."""
    due_us = probe.poll_timeout()
    assert due_us is not None
    assert probe.poll(now_us=due_us - 1) is None
    assert probe.poll(now_us=due_us) is KEY
    assert probe.poll(now_us=due_us + 1) is None
    probe.probed(took_us, now_us=due_us)
    return due_us


def test_frames_would_take_as_much_longer_as_the_key_frame_does():
    probe = left()
    assert probe.decode_us(pixels=PIXELS) is None
    assert probed(probe, 30_000) == FIRST_INTERVAL_US
    assert probe.decode_us(pixels=PIXELS) == pytest.approx(20_000, abs=2)
    assert probe.decode_us(pixels=PIXELS // 4) == pytest.approx(5_000, abs=2)
    probed(probe, 3_000)
    assert probe.decode_us(pixels=PIXELS) == 2_000


def test_one_odd_frame_behind_the_key_frame_says_nothing():
    probe = left(frames_us=(2_000, 2_000, 90_000))
    probed(probe, 3_000)
    assert probe.decode_us(pixels=PIXELS) == 2_000


def test_a_key_frame_alone_stands_for_itself():
    probe = left(frames_us=())
    probed(probe, 6_000)
    assert probe.decode_us(pixels=PIXELS) == 6_000


def test_only_frames_soon_after_the_key_frame_tell_how_fast_the_device_was_then():
    probe = left(frames_us=(2_000,) * 30 + (50_000,) * 100)
    probed(probe, 3_000)
    assert probe.decode_us(pixels=PIXELS) == 2_000


def test_probes_come_ever_more_rarely():
    probe = left()
    times = [probed(probe, 3_000) for _ in range(6)]
    gaps = [later - earlier for earlier, later in zip([0, *times], times, strict=False)]
    assert gaps == [FIRST_INTERVAL_US, 7_500_000, 11_250_000] + [LONGEST_INTERVAL_US] * 3


def test_more_h264_does_not_put_off_a_probe():
    probe = left()
    for now_us in range(0, 3_000_000, 33_333):
        probe.decoded(H264, decode_us=500, pixels=PIXELS, now_us=now_us)
    assert probe.poll_timeout() == FIRST_INTERVAL_US


def test_av1_again_ends_it():
    probe = left()
    probed(probe, 3_000)
    probe.decoded(replace(KEY, frame_id=20), decode_us=3_000, pixels=PIXELS, now_us=9_000_000)
    assert probe.poll_timeout() is None
    assert probe.decode_us(pixels=PIXELS) is None
    probe.decoded(H264, decode_us=500, pixels=PIXELS, now_us=10_000_000)
    assert probe.poll_timeout() == 10_000_000 + FIRST_INTERVAL_US


@pytest.mark.parametrize("codec", [Codec.AV1, Codec.H264])
def test_an_answer_that_comes_too_late_counts_only_while_av1_is_left(codec):
    probe = left()
    assert probe.poll(now_us=FIRST_INTERVAL_US) is KEY
    later = replace(frame(20, 7), codec=codec)
    probe.decoded(later, decode_us=2_000, pixels=PIXELS, now_us=6_000_000)
    probe.probed(3_000, now_us=6_000_001)
    told = probe.decode_us(pixels=PIXELS)
    assert told == (2_000 if codec is Codec.H264 else None)


def test_a_key_frame_that_cannot_be_decoded_again_is_forgotten():
    probe = left()
    probed(probe, None)
    probe.decoded(H264, decode_us=500, pixels=PIXELS, now_us=6_000_000)
    assert probe.poll_timeout() is None
    assert probe.decode_us(pixels=PIXELS) is None


def test_without_a_key_frame_of_av1_there_is_nothing_to_probe():
    probe = Av1Probe()
    probe.decoded(H264, decode_us=500, pixels=PIXELS, now_us=0)
    assert probe.poll_timeout() is None
    probe.probed(3_000, now_us=1)
    assert probe.decode_us(pixels=PIXELS) is None
