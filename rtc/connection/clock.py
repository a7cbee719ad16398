"""The real-time driver's clocks: the only place where the call reads time."""

from __future__ import annotations

import time

# RFC 868: NTP counts from 1900, 70 years and 17 leap days before the Unix epoch.
NTP_EPOCH_OFFSET_US = 2_208_988_800_000_000


def now_us() -> int:
    """The monotonic clock that all cores run on."""
    return time.monotonic_ns() // 1000


def wall_offset_us() -> int:
    """The wall clock, counted from 1900 as NTP does, less now_us()."""
    return time.time_ns() // 1000 + NTP_EPOCH_OFFSET_US - now_us()
