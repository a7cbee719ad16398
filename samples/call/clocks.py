"""The wall clock that both peers share, steady within a call."""

from __future__ import annotations

import time

# RFC 868: 70 years and 17 leap days, from NTP's epoch to Unix's.
NTP_EPOCH_OFFSET_US = 2_208_988_800_000_000


def wall_us() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def wall_from_monotonic_us(monotonic_us: int) -> int:
    """The wall time of a moment of the monotonic clock."""
    return monotonic_us + wall_us() - time.monotonic_ns() // 1000


def unix_us(ntp_us: int | None) -> int | None:
    """A time since 1900, as the call's messages carry it, as one since 1970."""
    return None if ntp_us is None else ntp_us - NTP_EPOCH_OFFSET_US
