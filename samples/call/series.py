"""Columns of integers by time, and the figures drawn from them. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from ...rtc.percentile import percentile

US_PER_MS = 1000
US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A measured stretch, by capture time on the wall clock (since 1970): [start_us, end_us).

    A capture time that went over the wire is off by the clock's rounding and the moment of reading
    it, so the edges lie half a picture before the first picture and before the one after the last.
    """

    start_us: int
    end_us: int
    tick_us: int

    @property
    def edges_us(self) -> tuple[int, int]:
        """What to compare capture times with."""
        return self.start_us - self.tick_us // 2, self.end_us - self.tick_us // 2

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_us - self.start_us) / US_PER_S


class Series:
    """Rows of integers: when something happened, to the picture of which capture time, and figures."""

    def __init__(self, *names: str) -> None:
        self._columns = {name: array("q") for name in ("at_us", "capture_us", *names)}

    def add(self, at_us: int, *, capture_us: int, **values: int) -> None:
        """Append a row; at_us never falls (where the wall clock was set back, it stands)."""
        times = self._columns["at_us"]
        times.append(max(at_us, times[-1]) if times else at_us)
        self._columns["capture_us"].append(capture_us)
        for name, value in values.items():
            self._columns[name].append(value)

    def recent(self, now_us: int, *, length_us: int = US_PER_S) -> dict[str, array[int]]:
        """The columns of the rows of the last second."""
        first = bisect_left(self._columns["at_us"], now_us - length_us)
        return {name: column[first:] for name, column in self._columns.items()}

    def within(self, window: Window) -> dict[str, array[int]]:
        """The columns of the rows whose picture was captured in the window."""
        start_us, end_us = window.edges_us
        holds = [start_us <= capture_us < end_us for capture_us in self._columns["capture_us"]]
        return {name: array("q", compress(column, holds)) for name, column in self._columns.items()}


def spread_ms(values_us: Sequence[int]) -> dict[str, float | None]:
    """{"p50", "p95"} in milliseconds, to a tenth."""
    return {"p50": _ms(percentile(values_us, 50)), "p95": _ms(percentile(values_us, 95))}


def mean(values: Sequence[int]) -> float | None:
    """The mean, to a tenth; None of nothing."""
    return round(sum(values) / len(values), 1) if values else None


def mean_ms(values_us: Sequence[int]) -> float | None:
    """The mean in milliseconds, to a tenth; None of nothing."""
    return _ms(sum(values_us) // len(values_us)) if values_us else None


def _ms(value_us: int | None) -> float | None:
    return None if value_us is None else round(value_us / US_PER_MS, 1)
