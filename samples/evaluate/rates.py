"""The target rate of a run over time: one rate, or a schedule of steps."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import dataclass

from ...codecs.errors import LocalError

US_PER_S = 1_000_000
# libaom and x264 count in whole kbit/s; the upper end is ours, far above any call.
KBPS_RANGE = (1, 1_000_000)
MAX_SECONDS = 86_400
RANDOM_FORM = "random:COUNT:LOWEST-HIGHEST:SECONDS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """steps are (start in us, target in bit/s), from 0 on; text is the schedule's, None for one rate.

    end_us is where the last step ends when the clip does not end before; None: with the clip.
    """

    steps: tuple[tuple[int, int], ...]
    text: str | None = None
    end_us: int | None = None

    @property
    def is_constant(self) -> bool:
        """Whether it is one rate that stands for itself, a point of a rate-quality curve."""
        return self.text is None

    @property
    def label(self) -> str:
        """For people, such as "100 kbps"."""
        return f"{self.steps[0][1] / 1000:g} kbps" if self.is_constant else "schedule"

    @property
    def slug(self) -> str:
        """For folder names, such as "100kbps"."""
        return self.label.replace(" ", "")

    @property
    def highest_bps(self) -> int:
        """The highest target."""
        return max(target for _, target in self.steps)


def constant(kbps: float) -> Rates:
    """One rate from beginning to end."""
    return Rates(steps=((0, _bps(kbps)),))


def parse_schedule(text: str, *, seed: int = 0) -> Rates:
    """A schedule from "SECONDS:KBPS,…", sorted and from 0 on, or from RANDOM_FORM.

    The last step lasts as long as the one before it (a lone step: as long as the clip). The random
    form spreads COUNT steps evenly over SECONDS, each to a rate drawn with the seed. Raises
    LocalError that says what is wrong.
    """
    if text.startswith("random:"):
        return _random_schedule(text, seed=seed)
    steps = tuple(_step(entry) for entry in text.split(","))
    starts = [start for start, _ in steps]
    if starts[0] != 0:
        raise LocalError(
            f"schedule {text!r}: the first step begins at 0, not {starts[0] / 1e6:g} s"
        )
    for before, after in itertools.pairwise(starts):
        if after <= before:
            raise LocalError(
                f"schedule {text!r}: {after / 1e6:g} s comes after {before / 1e6:g} s; sort the steps"
            )
    end_us = None if len(starts) == 1 else 2 * starts[-1] - starts[-2]
    return Rates(steps=steps, text=text, end_us=end_us)


def parse_rate(text: str) -> Rates:
    """One rate in kbit/s. Raises LocalError for what is no number in KBPS_RANGE."""
    return constant(_number(text, what="rate"))


def _step(entry: str) -> tuple[int, int]:
    seconds, separator, kbps = entry.partition(":")
    if not separator:
        raise LocalError(f"schedule step {entry!r} is not SECONDS:KBPS")
    start = _number(seconds, what="time")
    if not start <= MAX_SECONDS:
        raise LocalError(f"schedule step {entry!r}: times are 0 to {MAX_SECONDS} s")
    return round(start * US_PER_S), _bps(_number(kbps, what="rate"))


def _random_schedule(text: str, *, seed: int) -> Rates:
    match = re.fullmatch(r"random:(\d{1,6}):([\d.]+)-([\d.]+):([\d.]+)", text)
    if not match:
        raise LocalError(f"schedule {text!r} is not {RANDOM_FORM}")
    count = int(match[1])
    low, high = (_bps(_number(part, what="rate")) for part in match.group(2, 3))
    end_us = round(_number(match[4], what="time") * US_PER_S)
    if not (1 <= count <= end_us <= MAX_SECONDS * US_PER_S and low <= high):
        raise LocalError(
            f"schedule {text!r}: COUNT from 1, LOWEST up to HIGHEST, SECONDS up to {MAX_SECONDS}"
        )
    draw = random.Random(f"schedule {seed}")
    steps = tuple((i * end_us // count, draw.randint(low, high)) for i in range(count))
    return Rates(steps=steps, text=text, end_us=end_us)


def _bps(kbps: float) -> int:
    low, high = KBPS_RANGE
    if not low <= kbps <= high:
        raise LocalError(f"rate {kbps:g} kbps is outside {low}..{high}")
    return round(kbps * 1000)


def _number(text: str, *, what: str) -> float:
    if not re.fullmatch(r"-?\d{1,9}(\.\d{1,6})?", text.strip()):
        raise LocalError(f"{what} {text!r} is not a number")
    number = float(text)
    if number < 0:
        raise LocalError(f"{what} {number:g} is below 0")
    return number
