"""What a call is asked to do: values checked, and carried to the peers as JSON."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...rtc.resilience.settings import ResilienceSettings, Switch
from ...rtc.simulation.numbers import parse_number
from .device_options import DeviceOptions

if TYPE_CHECKING:
    from ...codecs.types import Codec

DEFAULT_PORT = 8040
# What CallSettings defaults to, for the size that it is meant for; other sizes by the streaming
# ladders' rule of thumb that the rate of equal quality grows with the pixels to the power of 0.75.
BASE_BITRATE_BPS = 400_000
BASE_PIXELS_A_SECOND = 640 * 360 * 30
BITRATE_POWER = 0.75

SIDE_RANGE_PX = (64, 4096)
FPS_RANGE = (1, 120)
BITRATE_RANGE_KBPS = (20, 50_000)
# What CallSettings takes beside 0, and its default.
AUDIO_RANGE_KBPS = (6, 256)
DEFAULT_AUDIO_BPS = 32_000
SECONDS_RANGE = (1, 86_400)
# The drawn scene's generator takes no negative one.
SEED_RANGE = (0, 999_999_999)
# CallSettings takes these; the first is its default.
CONGESTION_CONTROLS = ("codecpilot", "gcc", "remb", "none")
# What --set reaches.
SWITCHES = tuple(field.name for field in fields(ResilienceSettings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where pictures come from: kind is "synthetic", "file" or "camera"; place is a path or number."""

    kind: str
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """A whole call. seconds None means until it is ended.

    bitrate_bps and audio_bps (0: no sound) are each direction's. Recordings go to record_dir, their names
    begin with record_name; telemetry goes to telemetry_dir under call_id, random hex. link are the values
    of an emulated link by the scenario's keys; none: the peers meet directly. cc names how both sides
    follow the path, switches the means against loss that both leave out or always use. preset is a row of
    the AV1 preset table or "auto".
    """

    source: Source
    width: int
    height: int
    fps: Fraction
    bitrate_bps: int
    codec: Codec
    preset: str
    seed: int
    audio_bps: int = DEFAULT_AUDIO_BPS
    cc: str = CONGESTION_CONTROLS[0]
    seconds: int | None = None
    record_dir: Path | None = None
    record_name: str = ""
    telemetry_dir: Path | None = None
    call_id: str = ""
    link: Mapping[str, str] = field(default_factory=dict)
    switches: Mapping[str, str] = field(default_factory=dict)
    device: DeviceOptions = field(default_factory=DeviceOptions)

    @property
    def resilience(self) -> ResilienceSettings:
        """The switches, those that were not set among them."""
        return ResilienceSettings(**{name: Switch(word) for name, word in self.switches.items()})

    def to_json(self) -> dict[str, Any]:
        """For the peers, and for the report."""
        return {
            "source": {"kind": self.source.kind, "place": self.source.place},
            "width": self.width,
            "height": self.height,
            "fps": str(self.fps),
            "bitrate_bps": self.bitrate_bps,
            "audio_bps": self.audio_bps,
            "codec": self.codec.value,
            "preset": self.preset,
            "seed": self.seed,
            "cc": self.cc,
            "seconds": self.seconds,
            "record_dir": None if self.record_dir is None else str(self.record_dir),
            "record_name": self.record_name,
            "telemetry_dir": None if self.telemetry_dir is None else str(self.telemetry_dir),
            "call_id": self.call_id,
            "link": dict(self.link),
            "switches": dict(self.switches),
            "device": self.device.to_json(),
        }

    @staticmethod
    def from_json(values: dict[str, Any]) -> CallOptions:
        """What to_json wrote."""
        from ...codecs.types import Codec

        folders = {
            name: None if values[name] is None else Path(values[name])
            for name in ("record_dir", "telemetry_dir")
        }
        return CallOptions(
            **{
                **values,
                "source": Source(**values["source"]),
                "fps": Fraction(values["fps"]),
                "codec": Codec(values["codec"]),
                "device": DeviceOptions.from_json(values["device"]),
                **folders,
            }
        )


def default_bitrate_bps(*, width: int, height: int, fps: Fraction | int) -> int:
    """A rate that suits the size, in whole kbps."""
    ratio = width * height * float(fps) / BASE_PIXELS_A_SECOND
    kbps = round(BASE_BITRATE_BPS * math.pow(ratio, BITRATE_POWER) / 1000)
    return max(BITRATE_RANGE_KBPS[0], kbps) * 1000


def parse_source(text: str) -> Source:
    """argparse type of --source."""
    if text == "synthetic":
        return Source(kind="synthetic")
    camera = re.fullmatch(r"camera(?::(\d+))?", text)
    if camera:
        return Source(kind="camera", place=camera[1] or "0")
    if not text or text.startswith("camera:"):
        raise argparse.ArgumentTypeError(f"{text!r} is not FILE, camera:N or synthetic")
    return Source(kind="file", place=text)


def parse_size(text: str) -> tuple[int, int]:
    """argparse type of --size: even sides, since 4:2:0 halves them."""
    low, high = SIDE_RANGE_PX
    match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    sides = (int(match[1]), int(match[2])) if match else (0, 0)
    if any(side % 2 or not low <= side <= high for side in sides):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not WIDTHxHEIGHT of even numbers from {low} to {high}"
        )
    return sides


def parse_fps(text: str) -> Fraction:
    """argparse type of --fps: 30, 29.97 or 30000/1001."""
    low, high = FPS_RANGE
    try:
        fps = parse_number(text).limit_denominator(1001)
    except ValueError:
        fps = Fraction(0)
    if not low <= fps <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low} to {high}")
    return fps


def parse_kbps(text: str) -> int:
    """argparse type of --bitrate; returns bits a second."""
    return 1000 * _whole(text, BITRATE_RANGE_KBPS)


def parse_audio_kbps(text: str) -> int:
    """argparse type of --audio; returns bits a second, 0 for no sound."""
    low, high = AUDIO_RANGE_KBPS
    if not re.fullmatch(r"\d{1,9}", text) or not (int(text) == 0 or low <= int(text) <= high):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not 0 or a whole number from {low} to {high}"
        )
    return 1000 * int(text)


def parse_seconds(text: str) -> int:
    """argparse type of --seconds."""
    return _whole(text, SECONDS_RANGE)


def parse_seed(text: str) -> int:
    """argparse type of --seed."""
    return _whole(text, SEED_RANGE)


def parse_setting(text: str) -> tuple[str, str]:
    """argparse type of --set: a switch and its word."""
    name, _, word = text.partition("=")
    if name not in SWITCHES or word not in set(Switch):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not KEY=VALUE with a key of {', '.join(SWITCHES)} and {', '.join(Switch)}"
        )
    return name, word


def parse_port(text: str) -> int:
    """argparse type of --port; 0 takes any free one."""
    return _whole(text, (0, 65_535))


def _whole(text: str, legal: tuple[int, int]) -> int:
    low, high = legal
    if not re.fullmatch(r"\d{1,9}", text) or not low <= int(text) <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
    return int(text)
