"""The device model: pixels x preset cost x factor, by the clock of the run and not of this machine."""

from __future__ import annotations

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec, EncodeRequest
from codecpilot.rtc.adaptation.costs import Cost
from codecpilot.rtc.simulation.device import DeviceModel, TimedEncoder
from codecpilot.rtc.simulation.steps import parse_steps

from tests.rtc.fakes import FakeEncoder, picture

COSTS = {
    (Codec.AV1, "default"): Cost(encode_ns=10, decode_ns=2),
    (Codec.AV1, "low"): Cost(encode_ns=5, decode_ns=1),
    (Codec.H264, "default"): Cost(encode_ns=8, decode_ns=3),
}


def device(factor: str = "1") -> DeviceModel:
    return DeviceModel(factor=parse_steps(factor, name="device", low=0, high=1000), costs=COSTS)


def test_time_is_pixels_times_cost_times_factor():
    model = device("0:1,20:4,60:1")
    times = [
        model.encode_us(Codec.AV1, "default", pixels=100_000, now_us=s * 1_000_000)
        for s in (0, 19, 20, 59, 60)
    ]
    assert times == [1000, 1000, 4000, 4000, 1000]
    assert model.encode_us(Codec.AV1, "low", pixels=100_000, now_us=0) == 500
    assert model.decode_us(Codec.AV1, "default", pixels=100_000, now_us=30_000_000) == 800


def test_h264_has_one_cost_whatever_av1s_preset_is():
    assert device().encode_us(Codec.H264, "low", pixels=100_000, now_us=0) == 800


def test_further_factors_are_of_av1_alone():
    model = DeviceModel(
        factor=parse_steps("2", name="device", low=0, high=9),
        av1_encode=parse_steps("0:1,1:5", name="av1_encode", low=0, high=9),
        av1_decode=parse_steps("3", name="av1_decode", low=0, high=9),
        costs=COSTS,
    )
    encode = [
        model.encode_us(codec, "default", pixels=1000, now_us=now_us)
        for codec in (Codec.AV1, Codec.H264)
        for now_us in (0, 1_000_000)
    ]
    assert encode == [20, 100, 16, 16]
    assert model.decode_us(Codec.AV1, "default", pixels=1000, now_us=0) == 12
    assert model.decode_us(Codec.H264, "default", pixels=1000, now_us=0) == 6


def test_a_preset_without_a_cost_is_refused_with_those_that_have_one():
    model = DeviceModel(factor=parse_steps("1", name="device", low=0, high=9), costs={})
    with pytest.raises(LocalError, match="no cost is known of AV1 best"):
        model.encode_us(Codec.AV1, "best", pixels=1, now_us=0)


def test_an_encoders_frames_take_the_devices_time():
    now_us = 0
    encoder = TimedEncoder(FakeEncoder(), device=device("0:1,1:3"), now_us=lambda: now_us)
    request = EncodeRequest(
        picture=picture(0, width=640, height=360), frame_id=0, quantizer=30, target_bps=1, key=True
    )
    frame = encoder.encode(request)
    assert (frame.encode_us, frame.encode_cpu_us) == (2304, 2304)
    now_us = 1_000_000
    assert encoder.encode(request).encode_us == 3 * 2304
    assert encoder.can_retry
