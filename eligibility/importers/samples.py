"""What every dump is read into: the reports of one connection at one moment, and device facts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Report = Mapping[str, Any]
"""One W3C RTCStats dictionary, or one report of Chrome's legacy statistics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The reports of one connection at time_us (UTC), by id; a full set, never a difference."""

    connection: str
    time_us: int
    reports: Mapping[str, Report]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a dump tells of the device, as columns of the telemetry schema."""

    columns: Mapping[str, str | int] = field(default_factory=dict)


# 1990 to 2100: what lies outside was no clock.
EARLIEST_MS = 631_152_000_000
LATEST_MS = 4_102_444_800_000


def time_us(value: object) -> int | None:
    """A Unix time in ms as us, or None where it cannot be one."""
    number = finite(value)
    if number is None or not EARLIEST_MS <= number <= LATEST_MS:
        return None
    return round(number * 1000)


def finite(value: object) -> float | None:
    """The value as a finite number; legacy statistics write theirs as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
