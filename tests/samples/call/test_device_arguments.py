"""The options of a call that are about its devices, on their way to each side's settings."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import Any

import pytest

from codecpilot.rtc.adaptation.settings import SenderLimits
from codecpilot.rtc.connection import CallSettings
from codecpilot.samples.call.device_arguments import (
    add_device_arguments,
    device_options,
    parse_battery,
    parse_scores,
    parse_send_codecs,
)
from codecpilot.samples.call.device_options import DeviceOptions


def _parsed(*arguments: str) -> DeviceOptions:
    parser = argparse.ArgumentParser()
    add_device_arguments(parser)
    return device_options(parser.parse_args(arguments))


def _settings(options: DeviceOptions) -> list[CallSettings]:
    return [CallSettings(**options.settings(side)) for side in ("A", "B")]


def test_without_options_both_sides_are_as_settings_are() -> None:
    assert _parsed() == DeviceOptions()
    assert _settings(_parsed()) == [CallSettings()] * 2


def test_a_slash_parts_the_sides() -> None:
    options = _parsed("--send-codecs", "H264/AV1,H264", "--rtc-score", "0.9/0.25")
    a, b = _settings(options)
    assert (a.send_codecs, b.send_codecs) == (("H264",), ("AV1", "H264"))
    assert (a.rtc_score, b.rtc_score) == (0.9, 0.25)
    both = _settings(_parsed("--send-codecs", "AV1", "--rtc-score", "1"))
    assert [s.send_codecs for s in both] == [("AV1",), ("AV1",)]
    assert [s.rtc_score for s in both] == [1.0, 1.0]


def test_everything_reaches_the_settings_by_way_of_json() -> None:
    options = _parsed(
        *("--adaptation", "off", "--cpu-budget", "0.3", "--battery", "off"),
        *("--send-codecs", "H264/AV1", "--rtc-score", "0.5"),
        *("--max-size", "320x180", "--max-fps", "29.97"),
    )
    told = DeviceOptions.from_json(options.to_json())
    assert told == options
    assert told.max_fps == Fraction("29.97")
    assert _settings(told)[1] == CallSettings(
        adaptation=False,
        cpu_budget_ratio=0.3,
        battery_ratio=None,
        send_codecs=("AV1",),
        rtc_score=0.5,
        limits=SenderLimits(max_width=320, max_height=180, max_fps=29.97),
    )


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *((parse_scores, t) for t in ("", "1.1", "-0.1", "0.5/", "/0.5", "0.5/x", "1/1/1", "nan")),
        *((parse_send_codecs, t) for t in ("", "VP8", "AV1/", "AV1,AV1", "av1", "AV1/H264/AV1")),
        *((parse_battery, t) for t in ("", "on", "20", "-1")),
    ],
)
def test_others_are_refused(parse: Any, text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not"):
        parse(text)
