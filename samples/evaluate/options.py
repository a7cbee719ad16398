"""What an evaluation is asked to do, from the words of the command line."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from ...codecs.errors import LocalError
from ...codecs.pictures import check_size
from ...codecs.types import Codec
from ...rtc.simulation.numbers import parse_number
from .clips import ReadOptions
from .codec_specs import CodecSpec, parse_codec
from .rates import Rates, parse_rate, parse_schedule

T = TypeVar("T")

METRICS = ("vmaf", "psnr", "ssim")
FPS_RANGE = (1, 240)
JOBS_RANGE = (1, 256)
MAX_PICTURES = 10**8  # ours: a day at more than FPS_RANGE's end
MAX_GAP_MS = 10_000  # beyond it a file counts as cut, too (codecs/media_container.py)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A whole evaluation.

    rates are those of AV1, h264_rates those of H.264, which may be others so that their qualities
    overlap. dask is a scheduler's address, None for processes here.
    """

    clips: tuple[str, ...]
    out: Path
    codecs: tuple[CodecSpec, ...]
    rates: tuple[Rates, ...]
    h264_rates: tuple[Rates, ...]
    metrics: tuple[str, ...]
    vmaf_every: int
    key_times_us: tuple[int, ...]
    read: ReadOptions
    workers: int
    dask: str | None

    def rates_of(self, codec: CodecSpec) -> tuple[Rates, ...]:
        """The rates at which a codec runs."""
        return self.rates if codec.codec is Codec.AV1 else self.h264_rates


def parse_request(args: argparse.Namespace) -> Request:
    """Check every option. Raises LocalError that names the option and what is wrong with it."""
    schedules = [parse_schedule(args.schedule, seed=args.seed)] if args.schedule is not None else []
    constant = _rates(args.bitrates, "--bitrates")
    h264_constant = _rates(args.h264_bitrates, "--h264-bitrates") or constant
    return Request(
        clips=tuple(args.clips),
        out=args.out,
        codecs=tuple(_listed(args.codecs, parse_codec, "--codecs")),
        rates=(*constant, *schedules),
        h264_rates=(*h264_constant, *schedules),
        metrics=tuple(_listed(args.metrics, _metric, "--metrics")),
        vmaf_every=_from_one(args.vmaf_every, "--vmaf-every"),
        key_times_us=_key_times_us(args.key_frames),
        read=_read_options(args),
        workers=_workers(args.jobs),
        dask=args.dask,
    )


def _rates(text: str | None, option: str) -> list[Rates]:
    return [] if text is None else _listed(text, parse_rate, option)


def _read_options(args: argparse.Namespace) -> ReadOptions:
    return ReadOptions(
        size=None if args.size is None else _size(args.size),
        fps=None if args.fps is None else _fps(args.fps),
        frames=None if args.frames is None else _from_one(args.frames, "--frames"),
        gaps_us=None if args.capture_gaps is None else _gaps_us(args.capture_gaps),
        seed=args.seed,
    )


def _listed(text: str, parse: Callable[[str], T], option: str) -> list[T]:
    """Comma-separated values, each once, in their order."""
    try:
        return list(dict.fromkeys(parse(part.strip()) for part in text.split(",")))
    except LocalError as error:
        raise LocalError(f"{option}: {error}") from error


def _metric(text: str) -> str:
    if text not in METRICS:
        raise LocalError(f"{text!r} is none of {', '.join(METRICS)}")
    return text


def _key_times_us(text: str) -> tuple[int, ...]:
    try:
        times = sorted({round(parse_number(part) * 1_000_000) for part in text.split(",") if part})
    except ValueError as error:
        raise LocalError(f"--key-frames {text!r}: seconds, separated by commas") from error
    if times and times[0] < 0:
        raise LocalError(f"--key-frames {text!r}: times are 0 or more")
    return tuple(times)


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,9})x(\d{1,9})", text)
    if not match:
        raise LocalError(f"--size {text!r} is not WIDTHxHEIGHT")
    width, height = int(match[1]), int(match[2])
    check_size(width, height)
    return width, height


def _fps(text: str) -> Fraction:
    low, high = FPS_RANGE
    try:
        fps = parse_number(text).limit_denominator(1001)
    except ValueError:
        fps = Fraction(0)
    if not low <= fps <= high:
        raise LocalError(f"--fps {text!r} is not a number from {low} to {high}")
    return fps


def _gaps_us(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", text)
    low, high = (int(match[1]), int(match[2])) if match else (1, 0)
    if not low <= high <= MAX_GAP_MS:
        raise LocalError(f"--capture-gaps {text!r} is not LOW-HIGH in ms, up to {MAX_GAP_MS}")
    if not high:
        raise LocalError(f"--capture-gaps {text!r}: time would stand still")
    return low * 1000, high * 1000


def _from_one(value: int, option: str) -> int:
    if value < 1:
        raise LocalError(f"{option} {value} is below 1")
    if value > MAX_PICTURES:
        raise LocalError(f"{option} {value} is above {MAX_PICTURES}")
    return value


def _workers(jobs: int | None) -> int:
    low, high = JOBS_RANGE
    if jobs is None:
        can_tell = hasattr(os, "sched_getaffinity")
        return min(len(os.sched_getaffinity(0)) if can_tell else os.cpu_count() or 1, high)
    if not low <= jobs <= high:
        raise LocalError(f"--jobs {jobs} is outside {low}..{high}")
    return jobs
