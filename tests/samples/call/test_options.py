"""Options of a call: what is accepted, and that peers get what was asked."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

import pytest

from codecpilot.codecs.opus_encoder import BITRATE_RANGE_BPS
from codecpilot.codecs.types import Codec
from codecpilot.rtc.connection import CallSettings
from codecpilot.rtc.estimators import CongestionControl
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch
from codecpilot.samples.call.options import (
    AUDIO_RANGE_KBPS,
    CONGESTION_CONTROLS,
    DEFAULT_AUDIO_BPS,
    CallOptions,
    Source,
    default_bitrate_bps,
    parse_audio_kbps,
    parse_fps,
    parse_kbps,
    parse_seed,
    parse_setting,
    parse_size,
    parse_source,
)

# Fraction would write it out.
HUGE = "1e999999999"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("synthetic", Source(kind="synthetic")),
        ("camera", Source(kind="camera", place="0")),
        ("camera:12", Source(kind="camera", place="12")),
        ("clips/a.mp4", Source(kind="file", place="clips/a.mp4")),
        ("cameras.mp4", Source(kind="file", place="cameras.mp4")),
    ],
)
def test_sources(text: str, source: Source) -> None:
    assert parse_source(text) == source


@pytest.mark.parametrize("text", ["", "camera:", "camera:-1", "camera:front"])
def test_wrong_sources_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="camera:N"):
        parse_source(text)


def test_sizes_rates_and_bitrates() -> None:
    assert parse_size("64x4096") == (64, 4096)
    assert parse_fps("29.97") == Fraction(2997, 100)
    assert parse_fps("30000/1001") == Fraction(30_000, 1001)
    assert parse_kbps("552") == 552_000


@pytest.mark.parametrize("text", ["62x64", "64x4098", "640X360", "640x360x2", "-64x64", "641x360"])
def test_wrong_sizes_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="even numbers"):
        parse_size(text)


@pytest.mark.parametrize("text", ["nan", "inf", "121", "0.9", "", "-30", "1/0", HUGE])
def test_wrong_rates_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="from 1 to 120"):
        parse_fps(text)


def test_sound_has_a_rate_that_opus_takes_or_none() -> None:
    assert [parse_audio_kbps(text) for text in ("0", "6", "256")] == [0, 6_000, 256_000]
    for text in ("5", "257", "-1", "32k", "1.5", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="0 or a whole number from 6 to 256"):
            parse_audio_kbps(text)
    low, high = BITRATE_RANGE_BPS
    assert (low, high) == tuple(1000 * kbps for kbps in AUDIO_RANGE_KBPS)
    assert CallSettings().audio_bps == DEFAULT_AUDIO_BPS


def test_a_seed_is_one_that_the_scene_can_be_drawn_from() -> None:
    assert [parse_seed(text) for text in ("0", "999999999")] == [0, 999_999_999]
    for text in ("-5", "1000000000", "1.5", "x", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="whole number from 0 to 999999999"):
            parse_seed(text)


def test_the_default_bitrate_grows_with_size_but_less_than_the_pixels_do() -> None:
    small = default_bitrate_bps(width=640, height=360, fps=Fraction(30))
    large = default_bitrate_bps(width=1280, height=720, fps=Fraction(30))
    assert small == 400_000
    assert 2.7 < large / small < 2.9
    assert default_bitrate_bps(width=64, height=64, fps=Fraction(1)) == 20_000


def test_the_congestion_controls_are_those_that_a_connection_knows() -> None:
    assert tuple(CongestionControl) == CONGESTION_CONTROLS


def test_a_setting_is_a_means_against_loss_and_how_it_is_used() -> None:
    assert parse_setting("ltr_proactive=on") == ("ltr_proactive", "on")
    options = CallOptions(
        source=Source(kind="synthetic"),
        width=640,
        height=360,
        fps=Fraction(30),
        bitrate_bps=500_000,
        codec=Codec.AV1,
        preset="low",
        seed=3,
        switches={"fec": "off", "temporal_layers": "on"},
    )
    expected = ResilienceSettings(fec=Switch.OFF, temporal_layers=Switch.ON)
    assert options.resilience == expected


@pytest.mark.parametrize("text", ["", "fec", "fec=", "fec=maybe", "fec=OFF", "cc=gcc", "=on"])
def test_other_settings_are_refused_with_the_legal_ones(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"temporal_layers, fec, .* off, on, auto"):
        parse_setting(text)


def test_options_survive_the_way_to_a_peer() -> None:
    options = CallOptions(
        source=Source(kind="file", place="a.mp4"),
        width=640,
        height=360,
        fps=Fraction(30_000, 1001),
        bitrate_bps=500_000,
        codec=Codec.H264,
        preset="low",
        seed=3,
        audio_bps=0,
        cc="gcc",
        seconds=10,
        record_dir=Path("kept"),
        record_name="now",
        link={"rate": "0:600,5:200", "loss": "0.1"},
        switches={"fec": "off"},
    )
    assert CallOptions.from_json(options.to_json()) == options
