"""What a link carries over time: constant steps here, recorded traces in trace.

A rate counts the work that it has offered since time 0. A serial link is then one number, the work
up to which it has served: a packet begins where the one before ended or, on an idle link, at the
work offered so far, and ends its size later. All of it is whole numbers, so nothing drifts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

from ...codecs.errors import LocalError
from .steps import Steps, parse_steps

# ours: 10 Gbit/s; a faster link is no bottleneck of any call.
MAX_RATE_KBPS = 10_000_000


class Rate(Protocol):
    """Work offered since time 0, never falling, and its two inverses."""

    units_per_byte: int
    """Units of work that one byte takes."""

    def offered(self, now_us: int) -> int:
        """Units offered up to a time."""
        ...

    def begins_us(self, work: int) -> int:
        """When the unit that follows `work` units begins to be served."""
        ...

    def ends_us(self, work: int) -> int:
        """When `work` units (at least 1) have been served."""
        ...


class StepRate:
    """A rate in steps. One unit of work is a millionth of a bit: bit/s times us."""

    units_per_byte = 8_000_000

    def __init__(self, kbps: Steps[Fraction]) -> None:
        """kbps of 0 is an outage; the last must be above 0, or packets would wait for ever."""
        self._times_us = kbps.times_us
        self._bps = [round(value * 1000) for value in kbps.values]
        if self._bps[-1] <= 0:
            raise LocalError("the last rate is 0 kbps; it must be above 0")
        self._work = [0]
        for (start_us, end_us), bps in zip(pairwise(self._times_us), self._bps, strict=False):
            self._work.append(self._work[-1] + (end_us - start_us) * bps)

    def offered(self, now_us: int) -> int:
        """See Rate."""
        step = max(0, bisect_right(self._times_us, now_us) - 1)
        return self._work[step] + self._bps[step] * max(0, now_us - self._times_us[step])

    def begins_us(self, work: int) -> int:
        """See Rate; rounded down."""
        step = bisect_right(self._work, work) - 1
        return self._times_us[step] + (work - self._work[step]) // self._bps[step]

    def ends_us(self, work: int) -> int:
        """See Rate; rounded up."""
        step = bisect_left(self._work, work) - 1
        return self._times_us[step] - (self._work[step] - work) // self._bps[step]


def parse_rate(text: str) -> StepRate:
    """A rate from "s:kbps,…" or one number of kbps. Raises LocalError."""
    return StepRate(parse_steps(text, name="rate", low=0, high=MAX_RATE_KBPS, unit="kbps"))
