"""The rate from losses: up below 2 %, held to 10 %, down above.

Source: draft-ietf-rmcat-gcc-02 section 6; the rules are those of libwebrtc,
SendSideBandwidthEstimation.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSettings:
    """Thresholds, steps and intervals."""

    # libwebrtc kDefaultLowLossThreshold, kDefaultHighLossThreshold.
    low_ratio: float = 0.02
    high_ratio: float = 0.10
    # libwebrtc kLossUpdateInterval, kLimitNumPackets: when a count of losses is complete.
    report_us: int = 1_000_000
    report_packets: int = 20
    # libwebrtc kMaxRtcpFeedbackInterval (times 1.2): for how long a count is believed.
    stale_us: int = 6_000_000
    # libwebrtc kBweIncreaseInterval; UpdateEstimate: 8 % and 1 kbps over the least rate in it.
    increase_us: int = 1_000_000
    increase_ratio: float = 1.08
    increase_bps: int = 1_000
    # libwebrtc kBweDecreaseInterval, to which the round-trip time is added.
    decrease_us: int = 300_000


class LossBasedEstimator:
    """Follows losses. One for each path."""

    def __init__(
        self, settings: LossSettings | None = None, *, start_bps: int, min_bps: int
    ) -> None:
        self._settings = settings or LossSettings()
        self._min_bps = min_bps
        self._rate_bps = max(start_bps, min_bps)
        self._rtt_us = 0
        self._lost = 0
        self._total = 0
        self._counted_us: int | None = None
        self._loss_ratio: float | None = None
        self._reported_us = 0
        self._decreased_us: int | None = None
        self._acted = False
        # Times and rates of the last interval, rising: the first is the least.
        self._least: deque[tuple[int, int]] = deque()

    @property
    def rate_bps(self) -> int:
        """The rate in force."""
        return self._rate_bps

    @property
    def loss_ratio(self) -> float | None:
        """The part of packets that the last complete count reported missing."""
        return self._loss_ratio

    def set_rtt(self, rtt_us: int) -> None:
        """Take the round-trip time."""
        self._rtt_us = rtt_us

    def set_rate(self, rate_bps: int) -> None:
        """Go on from a rate that was measured otherwise."""
        self._rate_bps = max(rate_bps, self._min_bps)
        self._least.clear()

    def handle_results(self, *, lost: int, total: int, now_us: int) -> None:
        """Count packets of which feedback spoke; lost is negative where missing ones came late."""
        if self._counted_us is None:
            self._counted_us = now_us
        self._lost += lost
        self._total += total
        settings = self._settings
        if now_us - self._counted_us < settings.report_us or self._total < settings.report_packets:
            return
        self._loss_ratio = min(max(self._lost / self._total, 0.0), 1.0)
        self._lost = self._total = 0
        self._counted_us = self._reported_us = now_us
        self._acted = False

    def update(self, *, limit_bps: int, now_us: int) -> int:
        """Move the rate by the last count, never above limit_bps; returns it."""
        settings = self._settings
        self._remember(now_us)
        loss = self._loss_ratio
        if loss is not None and now_us - self._reported_us < settings.stale_us:
            if loss <= settings.low_ratio:
                raised = self._least[0][1] * settings.increase_ratio + settings.increase_bps
                self._rate_bps = max(self._rate_bps, round(raised))
            elif loss > settings.high_ratio and self._may_decrease(now_us):
                self._acted = True
                self._decreased_us = now_us
                self._rate_bps = round(self._rate_bps * (1 - 0.5 * loss))
        self._rate_bps = max(min(self._rate_bps, limit_bps), self._min_bps)
        return self._rate_bps

    def _may_decrease(self, now_us: int) -> bool:
        """Once a count, and not before the last step can show in a count."""
        if self._acted:
            return False
        interval_us = self._settings.decrease_us + self._rtt_us
        return self._decreased_us is None or now_us - self._decreased_us >= interval_us

    def _remember(self, now_us: int) -> None:
        while self._least and now_us - self._least[0][0] > self._settings.increase_us:
            self._least.popleft()
        while self._least and self._least[-1][1] >= self._rate_bps:
            self._least.pop()
        self._least.append((now_us, self._rate_bps))
