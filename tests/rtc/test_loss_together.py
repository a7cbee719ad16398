"""The whole ladder between the two cores, in virtual time: what loss costs with it and without."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch

from tests.rtc.fakes import AV1, FLEXFEC, Pair, av1_unit
from tests.rtc.test_recovery_exact import Losses
from tests.rtc.test_send_path import FakeEstimator

OFF = Switch.OFF
ALL = ResilienceSettings()
NACK = ResilienceSettings(temporal_layers=OFF, fec=OFF, nack=Switch.ON, ltr=OFF, ltr_proactive=OFF)
KEY = replace(NACK, nack=OFF)


def call(resilience: ResilienceSettings, *, rtt_us: int, burst: float, marks: bool = True) -> Pair:
    """10 s of frames of four packets with 5 % lost, after a second without."""
    pair = Pair(
        codecs=(AV1,),
        estimator=FakeEstimator(1_500_000),
        target_bps=1_000_000,
        resilience=resilience,
        marks=marks,
        flexfec=FLEXFEC,
    )
    encode = pair.session.run

    def larger(job):
        frame = encode(job)
        start = frame.data.index(b'{"id"')
        return replace(frame, data=av1_unit(frame.data[start:].ljust(4_000), key=frame.key))

    pair.session.run = larger  # type: ignore[method-assign]
    pair.media.delay_us = pair.feedback.delay_us = rtt_us // 2
    pair.receiver.set_rtt(rtt_us)
    pair.run(1)
    pair.media.drop = Losses(random.Random(5), ratio=0.05, burst=burst)
    pair.run(10)
    return pair


def frozen_us(pair: Pair) -> int:
    return pair.receiver.freezes.total_us


@pytest.mark.parametrize(
    ("rtt_us", "burst", "share"), [(100_000, 1, 0.4), (300_000, 1, 0.4), (300_000, 4, 0.5)]
)
def test_losses_freeze_less_long_than_with_retransmission_alone(rtt_us, burst, share):
    with_all = call(ALL, rtt_us=rtt_us, burst=burst)
    with_nack = call(NACK, rtt_us=rtt_us, burst=burst)
    assert with_all.sender.counters.keyFramesEncoded == 1
    assert frozen_us(with_nack) > 0
    assert frozen_us(with_all) <= share * frozen_us(with_nack)
    assert len(with_all.shown) >= 0.8 * len(with_nack.shown)


def test_losses_freeze_a_fifth_of_what_they_do_with_key_frames_alone():
    with_all = call(ALL, rtt_us=100_000, burst=1)
    with_keys = call(KEY, rtt_us=100_000, burst=1)
    assert frozen_us(with_all) <= frozen_us(with_keys) / 5
    assert with_keys.sender.counters.keyFramesEncoded > 5


def test_a_browser_with_descriptors_needs_no_key_frame_either():
    pair = call(ALL, rtt_us=100_000, burst=1, marks=False)
    assert pair.sender.counters.keyFramesEncoded <= 2
    assert pair.sender.counters.recoveryFramesSent >= 5
    assert pair.receiver.counters.rpsiCount == 0
