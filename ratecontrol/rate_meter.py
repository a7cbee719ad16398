"""How fast something flows, over about the last second."""

from __future__ import annotations

import math

# ours: long enough to hold a burst of retransmissions and short enough to follow a rate that changes.
TIME_CONSTANT_US = 1_000_000

_US_PER_S = 1_000_000


class RateMeter:
    """An exponentially weighted rate: no window at whose edge a burst would leave at once."""

    def __init__(self, *, start_bps: int = 0) -> None:
        """start_bps is what to assume until enough has been seen."""
        self._level_bits = start_bps * TIME_CONSTANT_US / _US_PER_S
        self._level_us: int | None = None

    def add(self, size_bits: int, *, now_us: int) -> None:
        """Count bits that flowed now."""
        self._decay(now_us)
        self._level_bits += size_bits

    def bps(self, *, now_us: int) -> int:
        """The rate."""
        self._decay(now_us)
        return round(self._level_bits * _US_PER_S / TIME_CONSTANT_US)

    def _decay(self, now_us: int) -> None:
        if self._level_us is None:
            self._level_us = now_us
        elif now_us > self._level_us:
            self._level_bits *= math.exp((self._level_us - now_us) / TIME_CONSTANT_US)
            self._level_us = now_us
