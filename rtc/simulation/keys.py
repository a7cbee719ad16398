"""What can be set of a scenario: names, defaults and legal values, each read from TOML or from text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ...codecs.av1_presets import PRESETS
from ...codecs.errors import LocalError
from ...codecs.types import Codec, Content
from ..adaptation.operations import AUTO
from ..estimators import CongestionControl
from ..resilience.settings import Switch
from ..sender import MIN_TARGET_BPS
from .numbers import parse_number
from .rate import MAX_RATE_KBPS
from .recovery import RECOVERIES
from .steps import parse_steps

Value = str | int | float | bool
Read = Callable[[str, Value], Any]

# ours: the same sides and rates that a live call takes.
SIDE_RANGE_PX = (64, 4096)
FPS_RANGE = (1, 120)
MAX_TARGET_KBPS = 50_000
# ours: a satellite path is 600 ms; more than a minute is no call.
MAX_DELAY_MS = 60_000
MAX_SECONDS = 86_400
# ours: crystals are within 100 ppm; more than 10 % off is no clock.
MAX_PPM = 100_000
MAX_FACTOR = 1000
MAX_BURST = 10_000
MAX_SEED = 2**63 - 1
# ours: each call has codecs of its own, which is what a run's time goes into.
MAX_CALLS = 4
# ours: a link that so many others use leaves a call nothing.
MAX_FLOWS = 16


# libwebrtc's way: see webrtc_adaptation.
WEBRTC = "webrtc"
ADAPTATIONS = ("true", "false", WEBRTC)


@dataclass(frozen=True, slots=True)
class Key:
    """A key's default (None: none), how to read it, and what it is."""

    default: Value | None
    read: Read
    meaning: str


def whole(low: int, high: int) -> Read:
    """A whole number."""

    def read(name: str, value: Value) -> int:
        number = _fraction(name, value, low, high)
        if number.denominator != 1:
            raise LocalError(f"{name} {value} is not a whole number from {low} to {high}")
        return int(number)

    return read


def number(low: float, high: float) -> Read:
    """Any number, as a Fraction."""
    return lambda name, value: _fraction(name, value, low, high)


def choice(*names: str) -> Read:
    """One of some words."""

    def read(name: str, value: Value) -> str:
        if value not in names:
            raise LocalError(f"{name} {value!r} is none of {', '.join(names)}")
        return str(value)

    return read


def flag(name: str, value: Value) -> bool:
    """True or false."""
    words = {"true": True, "false": False}
    if str(value).lower() not in words:
        raise LocalError(f"{name} {value!r} is neither true nor false")
    return words[str(value).lower()]


def adaptation(name: str, value: Value) -> str:
    """One of ADAPTATIONS; true and false as TOML has them, too."""
    word: str = choice(*ADAPTATIONS)(name, str(value).lower())
    return word


def steps(low: float, high: float, unit: str = "") -> Read:
    """A number, or numbers over time as "s:value,…"."""

    def read(name: str, value: Value) -> object:
        if isinstance(value, bool):
            raise LocalError(f"{name} {value} is not a number")
        bounds = (Fraction(str(low)), Fraction(str(high)))
        return parse_steps(str(value), name=name, low=bounds[0], high=bounds[1], unit=unit)

    return read


def size(name: str, value: Value) -> tuple[int, int]:
    """WIDTHxHEIGHT in px; even, since 4:2:0 halves both."""
    low, high = SIDE_RANGE_PX
    sides = str(value).split("x")
    if (
        len(sides) != 2
        or not all(side.isdecimal() and len(side) <= 5 for side in sides)
        or any(int(side) % 2 or not low <= int(side) <= high for side in sides)
    ):
        raise LocalError(
            f"{name} {value!r} is not WIDTHxHEIGHT of even numbers from {low} to {high}"
        )
    return int(sides[0]), int(sides[1])


def text(name: str, value: Value) -> str:
    """Any words."""
    if not isinstance(value, str) or not value:
        raise LocalError(f"{name} {value!r} is not a text")
    return value


def _fraction(name: str, value: Value, low: float, high: float) -> Fraction:
    try:
        if isinstance(value, bool):
            raise ValueError
        number = parse_number(str(value))
    except ValueError:
        raise LocalError(
            f"{name} {value!r} is not a number from {low:.12g} to {high:.12g}"
        ) from None
    # As written: the float 0.1 is a little more than a tenth.
    if not Fraction(str(low)) <= number <= Fraction(str(high)):
        raise LocalError(f"{name} {value} is outside {low:.12g}..{high:.12g}")
    return number


RUN_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "seconds": Key(30, number(0.1, MAX_SECONDS), "virtual time that is simulated"),
        "seed": Key(1, whole(0, MAX_SEED), "of everything random"),
        "calls": Key(1, whole(1, MAX_CALLS), "calls of the same kind that share both links"),
        "calls_start_s": Key(0, number(0, MAX_SECONDS), "when the calls beside the first begin"),
        "psnr": Key(True, flag, "whether the screen is compared with what was due"),
    }
)

PEER_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "source": Key("synthetic", text, 'a video file, or "synthetic"'),
        "size": Key("640x360", size, "of the pictures"),
        "fps": Key(30, number(*FPS_RANGE), "pictures a second"),
        "stack": Key("codecpilot", choice("codecpilot", "aiortc"), "what runs the peer"),
        "cc": Key("codecpilot", choice(*CongestionControl), "how its sender finds its rate"),
        "codec": Key("AV1", choice(*Codec), "what the stream begins with"),
        "preset": Key(
            "default", choice(AUTO, *PRESETS), "the best that its AV1 encoder may use; auto: any"
        ),
        "adaptation": Key(
            True, adaptation, "whether its sender adapts to the devices; false: as set"
        ),
        "cpu_budget": Key(
            "0.5", number(0.01, 1), "share of a frame's time that quality to spare may take"
        ),
        "rtc_score": Key(None, number(0, 1), "how fit for AV1 the device is thought beforehand"),
        "content": Key("camera", choice(*Content), "what the pictures show"),
        "target_kbps": Key(
            None,
            whole(-(-MIN_TARGET_BPS // 1000), MAX_TARGET_KBPS),
            "video rate at most (default: by the size; aiortc heeds none)",
        ),
        "recovery": Key("codecpilot", choice(*RECOVERIES), "its means against loss"),
        "temporal_layers": Key(None, choice(*Switch), "every second frame read by no other"),
        "fec": Key(None, choice(*Switch), "packets that carry what a lost one held"),
        "nack": Key(None, choice(*Switch), "lost packets asked for and sent again"),
        "ltr": Key(None, choice(*Switch), "going on from long-term references"),
        "ltr_proactive": Key(None, choice(*Switch), "doing so before a loss is known"),
        "descriptor": Key(True, flag, "whether AV1 carries the dependency descriptor"),
        "device": Key("1", steps(0.01, MAX_FACTOR), "times slower than the costs say, over time"),
        "av1_encode": Key("1", steps(0.01, MAX_FACTOR), "times slower still at encoding AV1"),
        "av1_decode": Key("1", steps(0.01, MAX_FACTOR), "times slower still at decoding AV1"),
        "battery": Key(None, steps(0, 100, "%"), "percent left over time (default: on power)"),
        "clock_ppm": Key(0, whole(-MAX_PPM, MAX_PPM), "millionths by which its clock is fast"),
        "wall_error_ms": Key(
            0, number(-86_400_000, 86_400_000), "by which its wall clock is ahead"
        ),
        "audio_kbps": Key(0, whole(0, 256), "sound at most, less on a narrow path; 0: none"),
    }
)

LINK_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "rate": Key("1000", steps(0, MAX_RATE_KBPS, "kbps"), "kbps over time"),
        "trace": Key(None, text, "a Mahimahi trace file, in place of rate"),
        "delay_ms": Key(25, number(0, MAX_DELAY_MS), "propagation, one way"),
        "jitter_ms": Key(0, number(0, MAX_DELAY_MS), "added at random, up to this"),
        "reorder": Key(0, number(0, 1), "share of packets that are held back"),
        "reorder_ms": Key(10, number(0, MAX_DELAY_MS), "by which they are held back"),
        "loss": Key("0", steps(0, 1), "share of packets lost, over time"),
        "burst": Key(1, number(1, MAX_BURST), "mean length of a loss in packets; 1: independent"),
        "queue_ms": Key(300, number(0, MAX_DELAY_MS), "the queue's limit in time"),
        "queue_bytes": Key(None, whole(1500, 10**9), "the queue's limit in bytes, in place of ms"),
        "cross": Key("0", steps(0, MAX_FLOWS), "long TCP-like flows beside the calls, over time"),
    }
)
