"""The options of `call` that are about its devices."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from ...rtc.simulation.numbers import parse_number
from .device_options import DeviceOptions
from .options import parse_fps, parse_size

T = TypeVar("T")

CODECS = ("AV1", "H264")
SWITCHES = ("on", "off")


def add_device_arguments(container: argparse._ActionsContainer) -> None:
    """Declare the options."""
    add = container.add_argument
    add(
        "--adaptation",
        default=SWITCHES[0],
        choices=SWITCHES,
        help="choose codec, preset, size and pace by what is measured (default: on)",
    )
    add(
        "--cpu-budget",
        default="0.5",
        type=parse_ratio,
        metavar="RATIO",
        help="share of a picture's time that better quality may take (default: 0.5)",
    )
    add(
        "--battery",
        default="0.2",
        type=parse_battery,
        metavar="RATIO|off",
        help="without power and below this, H.264 is sent (default: 0.2)",
    )
    _add_score_arguments(container)
    add(
        "--send-codecs",
        default=(None, None),
        type=parse_send_codecs,
        metavar="CODECS[/CODECS]",
        help="what may be sent: AV1, H264 or AV1,H264 (default: both)",
    )
    add("--max-size", type=parse_size, metavar="WxH", help="send no larger pictures")
    add("--max-fps", type=parse_fps, metavar="N", help="send no more pictures a second")


def device_options(args: argparse.Namespace) -> DeviceOptions:
    """What the arguments say."""
    return DeviceOptions(
        adaptation=args.adaptation == "on",
        cpu_budget_ratio=args.cpu_budget,
        battery_ratio=args.battery,
        rtc_scores=args.rtc_score,
        send_codecs=args.send_codecs,
        eligibility=args.eligibility,
        max_size=args.max_size,
        max_fps=args.max_fps,
    )


def parse_ratio(text: str) -> float:
    """argparse type of a number from 0 to 1."""
    try:
        ratio = parse_number(text)
    except ValueError:
        ratio = Fraction(-1)
    if not 0 <= ratio <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return float(ratio)


def parse_battery(text: str) -> float | None:
    """argparse type of --battery."""
    return None if text == "off" else parse_ratio(text)


def parse_scores(text: str) -> tuple[float | None, ...]:
    """argparse type of --rtc-score."""
    return _of_both(text, parse_ratio)


def parse_send_codecs(text: str) -> tuple[tuple[str, ...] | None, ...]:
    """argparse type of --send-codecs."""
    return _of_both(text, _parse_codecs)


def _add_score_arguments(container: argparse._ActionsContainer) -> None:
    score = container.add_mutually_exclusive_group()
    score.add_argument(
        "--eligibility",
        metavar="MODEL",
        help="score both devices by this model, from codecpilot eligibility train, and begin as they "
        "promise: codec, preset, size and pace",
    )
    score.add_argument(
        "--rtc-score",
        default=(None, None),
        type=parse_scores,
        metavar="SCORE[/SCORE]",
        help="how well the device is expected to hold a call, 0 to 1: where to begin",
    )


def _of_both(text: str, parse: Callable[[str], T]) -> tuple[T, T]:
    """One value for both sides, or A's and B's with a slash between them."""
    first, *rest = text.split("/")
    if len(rest) > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one value, or two with a slash between")
    return parse(first), parse(rest[0] if rest else first)


def _parse_codecs(text: str) -> tuple[str, ...]:
    codecs = tuple(text.split(","))
    if any(c not in CODECS for c in codecs) or len(set(codecs)) < len(codecs):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(CODECS)}, or both")
    return codecs
