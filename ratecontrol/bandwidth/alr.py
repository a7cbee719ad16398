"""Application-limited regions: times in which the sources use little of the estimate.

In them a steady delay says nothing of the capacity, so the estimate is held up by probes alone.
Source: libwebrtc, AlrDetector and IntervalBudget.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AlrSettings:
    """How much has to go unused for how long."""

    # libwebrtc kDefaultBandwidthUsageRatio (0.65) in percent of the estimate.
    usage_percent: int = 65
    # libwebrtc IntervalBudget kWindowMs: unused bytes are counted over it.
    window_us: int = 500_000
    # libwebrtc start_budget_level_ratio, stop_budget_level_ratio, in percent of that window.
    start_percent: int = 80
    stop_percent: int = 50


class AlrDetector:
    """Counts what is sent against a part of the estimate. One for each path."""

    def __init__(self, settings: AlrSettings | None = None, *, estimate_bps: int) -> None:
        self._settings = settings or AlrSettings()
        self._allowed_bps = 0
        # What may still be sent, in bits times 1e6: a rate in bit/s times a time in us.
        self._budget = 0
        self._sent_us: int | None = None
        self._since_us: int | None = None
        self.set_estimate(estimate_bps)

    @property
    def since_us(self) -> int | None:
        """When the region that lasts began; None outside of one."""
        return self._since_us

    def set_estimate(self, estimate_bps: int) -> None:
        """Measure against a new estimate from now on."""
        self._allowed_bps = max(estimate_bps * self._settings.usage_percent // 100, 1)
        limit = self._limit()
        self._budget = min(max(self._budget, -limit), limit)

    def handle_sent(self, size_bytes: int, *, now_us: int) -> None:
        """Count a packet that leaves."""
        since_us = now_us if self._sent_us is None else self._sent_us
        self._sent_us = max(now_us, since_us)
        limit = self._limit()
        used = max(self._budget - size_bytes * 8 * 1_000_000, -limit)
        self._budget = min(used + self._allowed_bps * max(now_us - since_us, 0), limit)
        if self._since_us is None and self._budget * 100 > limit * self._settings.start_percent:
            self._since_us = now_us
        elif (
            self._since_us is not None and self._budget * 100 < limit * self._settings.stop_percent
        ):
            self._since_us = None

    def _limit(self) -> int:
        return self._allowed_bps * self._settings.window_us
