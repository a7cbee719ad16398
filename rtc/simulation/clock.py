"""A peer's own clock beside virtual time: it begins elsewhere and may run at another speed."""

from __future__ import annotations

from dataclasses import dataclass

# ours: any time, so that nothing takes a clock of the simulator for one that begins at 0.
START_US = 1_000_000_000
# 2026-01-01 in microseconds since 1900, which RFC 5905 counts from.
WALL_START_US = 3_976_214_400_000_000
MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerClock:
    """fast_ppm: millionths by which it runs fast; wall_error_us: by which its wall clock is ahead."""

    fast_ppm: int = 0
    wall_error_us: int = 0

    @property
    def wall_offset_us(self) -> int:
        """The wall clock, counted from 1900, less this clock."""
        return WALL_START_US + self.wall_error_us - START_US

    def local_us(self, virtual_us: int) -> int:
        """What the clock shows at a virtual time."""
        return START_US + virtual_us + virtual_us * self.fast_ppm // MILLION

    def virtual_us(self, local_us: int) -> int:
        """The first virtual time at which the clock shows this much."""
        return -(-(local_us - START_US) * MILLION // (MILLION + self.fast_ppm))
