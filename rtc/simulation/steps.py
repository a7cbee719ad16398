"""Values that change at given times, written as "0:600,10:150": 600 from 0 s on, 150 from 10 s on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Generic, TypeVar

from ...codecs.errors import LocalError
from .numbers import parse_number

US_PER_S = 1_000_000
# ours: a day; beyond it a mistyped number is likelier than a longer call.
MAX_TIME_S = 86_400

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Steps(Generic[T]):
    """A piecewise constant function of time; times_us begins with 0 and grows."""

    times_us: tuple[int, ...]
    values: tuple[T, ...]

    @staticmethod
    def constant(value: T) -> Steps[T]:
        """The same value at all times."""
        return Steps((0,), (value,))

    def map(self, change: Callable[[T], U]) -> Steps[U]:
        """The same times with changed values."""
        return Steps(self.times_us, tuple(change(value) for value in self.values))

    def at(self, now_us: int) -> T:
        """The value in force at a time; the first one before 0."""
        return self.values[max(0, bisect_right(self.times_us, now_us) - 1)]


def parse_steps(
    text: str, *, name: str, low: Fraction | int, high: Fraction | int, unit: str = ""
) -> Steps[Fraction]:
    """Read "s:value,…" or one value for all times.

    Raises LocalError, naming what is wrong and what is legal: times begin at 0 and grow, values lie
    in low..high.
    """
    if ":" not in text:
        return Steps.constant(_value(text, name=name, low=low, high=high, unit=unit))
    times_us, values = [], []
    for step in text.split(","):
        time, _, value = step.partition(":")
        time_s = _number(time, name=f"{name}: a time")
        if not 0 <= time_s <= MAX_TIME_S:
            raise LocalError(f"{name}: time {time.strip()} s is outside 0..{MAX_TIME_S}")
        times_us.append(round(time_s * US_PER_S))
        values.append(_value(value, name=name, low=low, high=high, unit=unit))
    if times_us[0] != 0:
        raise LocalError(f"{name} {text!r}: the first step must begin at 0 s")
    if any(b <= a for a, b in pairwise(times_us)):
        raise LocalError(f"{name} {text!r}: the steps' times must grow")
    return Steps(tuple(times_us), tuple(values))


def _value(
    text: str, *, name: str, low: Fraction | int, high: Fraction | int, unit: str
) -> Fraction:
    value = _number(text, name=name)
    if not low <= value <= high:
        raise LocalError(
            f"{name} {text.strip()} is outside {float(low):.12g}..{float(high):.12g}{unit and ' ' + unit}"
        )
    return value


def _number(text: str, *, name: str) -> Fraction:
    try:
        return parse_number(text)
    except ValueError:
        raise LocalError(f"{name} {text.strip()[:40]!r} is not a number") from None
