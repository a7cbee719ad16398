"""The rate from what the delay says: up gently, down to a part of what arrived.

Source: draft-ietf-rmcat-gcc-02 section 5.5; the rules are those of libwebrtc, AimdRateControl and
LinkCapacityEstimator. Ours: without an acknowledged bitrate the rate never rises (libwebrtc takes
the start rate for one), so that nothing but arrivals can raise it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

from .trendline import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class AimdSettings:
    """How fast the rate rises, how far it falls, how long the capacity is remembered."""

    # libwebrtc kDefaultBackoffFactor.
    beta: float = 0.85
    # libwebrtc MultiplicativeRateIncrease: a second's growth far from the capacity, at least 1 kbps.
    growth: float = 1.08
    growth_min_bps: int = 1_000
    # libwebrtc GetNearMaxIncreaseRateBpsPerSecond: near the capacity half a packet each response
    # time, which is the round trip and the detector's delay; frames of 30 fps in such packets.
    packet_bytes: int = 1_200
    frames_per_second: int = 30
    detector_us: int = 100_000
    response_times_per_packet: int = 2
    addition_min_bps: int = 4_000
    # libwebrtc ChangeBitrate: no rise above 1.5 times the acknowledged bitrate and 10 kbps.
    acknowledged_ratio: float = 1.5
    acknowledged_margin_bps: int = 10_000
    # libwebrtc kDefaultRtt; TimeToReduceFurther: one step down a round trip, within these bounds,
    # or at once where less than half of the rate arrives.
    rtt_us: int = 200_000
    reduction_min_us: int = 10_000
    reduction_max_us: int = 200_000
    reduction_now_ratio: float = 0.5
    # libwebrtc LinkCapacityEstimator: alpha, bounds of the deviation, bounds in deviations.
    capacity_alpha: float = 0.05
    capacity_deviation_min: float = 0.4
    capacity_deviation_max: float = 2.5
    capacity_deviations: float = 3.0


class LinkCapacity:
    """Remembers what arrived whenever the path was overused."""

    def __init__(self, settings: AimdSettings) -> None:
        self._settings = settings
        self._kbps: float | None = None
        # The variance over the mean, in kbps.
        self._deviation = settings.capacity_deviation_min

    @property
    def bps(self) -> int | None:
        """The mean; None where nothing is remembered."""
        return None if self._kbps is None else round(self._kbps * 1000)

    def excludes_above(self, rate_bps: int) -> bool:
        """Whether rate_bps is more than the memory explains."""
        return self._kbps is not None and rate_bps / 1000 > self._kbps + self._spread()

    def excludes_below(self, rate_bps: int) -> bool:
        """Whether rate_bps is less than the memory explains."""
        return self._kbps is not None and rate_bps / 1000 < self._kbps - self._spread()

    def forget(self) -> None:
        """The path has changed."""
        self._kbps = None

    def handle_overuse(self, acknowledged_bps: int) -> None:
        """Learn what arrived under overuse."""
        settings = self._settings
        sample = acknowledged_bps / 1000
        if self._kbps is None:
            self._kbps = sample
        else:
            self._kbps += settings.capacity_alpha * (sample - self._kbps)
        error = self._kbps - sample
        square = error * error / max(self._kbps, 1.0)
        deviation = self._deviation + settings.capacity_alpha * (square - self._deviation)
        low, high = settings.capacity_deviation_min, settings.capacity_deviation_max
        self._deviation = min(max(deviation, low), high)

    def _spread(self) -> float:
        """How far from the mean a sample may lie, in kbps."""
        mean = 0.0 if self._kbps is None else self._kbps
        return self._settings.capacity_deviations * sqrt(self._deviation * mean)


class AimdRateControl:
    """Moves the rate at each feedback. One for each path."""

    def __init__(
        self, settings: AimdSettings | None = None, *, start_bps: int, min_bps: int
    ) -> None:
        self._settings = settings or AimdSettings()
        self._min_bps = min_bps
        self._rate_bps = max(start_bps, min_bps)
        self._capacity = LinkCapacity(self._settings)
        self._rtt_us = self._settings.rtt_us
        self._rising = False
        self._changed_us: int | None = None

    @property
    def rate_bps(self) -> int:
        """The rate in force."""
        return self._rate_bps

    @property
    def capacity_bps(self) -> int | None:
        """What is remembered of the link's capacity."""
        return self._capacity.bps

    def set_rtt(self, rtt_us: int) -> None:
        """Take the round-trip time, feedback's delay included."""
        self._rtt_us = rtt_us

    def set_rate(self, rate_bps: int, *, now_us: int) -> None:
        """Go on from a rate that was measured otherwise."""
        self._rate_bps = max(rate_bps, self._min_bps)
        self._changed_us = now_us

    def may_reduce(self, acknowledged_bps: int | None, *, now_us: int) -> bool:
        """Whether another step down is due; each has to show in the delay first."""
        if self._changed_us is None:
            return True
        settings = self._settings
        low_us, high_us = settings.reduction_min_us, settings.reduction_max_us
        if now_us - self._changed_us >= min(max(self._rtt_us, low_us), high_us):
            return True
        if acknowledged_bps is None:
            return False
        return acknowledged_bps < settings.reduction_now_ratio * self._rate_bps

    def update(self, usage: Usage, *, acknowledged_bps: int | None, now_us: int) -> int:
        """Move the rate by what the delay says; returns it."""
        if usage is Usage.OVERUSE:
            self._decrease(acknowledged_bps, now_us)
        elif usage is Usage.UNDERUSE:
            self._rising = False
        else:
            if not self._rising:
                self._rising = True
                self._changed_us = now_us
            if acknowledged_bps is not None:
                self._increase(acknowledged_bps, now_us)
        return self._rate_bps

    def _decrease(self, acknowledged_bps: int | None, now_us: int) -> None:
        self._rising = False
        self._changed_us = now_us
        if acknowledged_bps is None:
            # libwebrtc DelayBasedBwe: half, where nothing is known of what arrives.
            self._rate_bps = max(self._rate_bps // 2, self._min_bps)
            return
        lower_bps = self._settings.beta * acknowledged_bps
        capacity_bps = self._capacity.bps
        if lower_bps > self._rate_bps and capacity_bps is not None:
            lower_bps = self._settings.beta * capacity_bps
        if self._capacity.excludes_below(acknowledged_bps):
            self._capacity.forget()
        self._capacity.handle_overuse(acknowledged_bps)
        self._rate_bps = max(min(self._rate_bps, round(lower_bps)), self._min_bps)

    def _increase(self, acknowledged_bps: int, now_us: int) -> None:
        settings = self._settings
        if self._capacity.excludes_above(acknowledged_bps):
            self._capacity.forget()
        since_us = now_us if self._changed_us is None else self._changed_us
        self._changed_us = now_us
        ratio, margin_bps = settings.acknowledged_ratio, settings.acknowledged_margin_bps
        limit_bps = int(ratio * acknowledged_bps) + margin_bps
        if self._rate_bps >= limit_bps:
            return
        seconds = max(now_us - since_us, 0) / 1_000_000
        if self._capacity.bps is None:
            growth = settings.growth ** min(seconds, 1.0) - 1
            step_bps = max(self._rate_bps * growth, settings.growth_min_bps)
        else:
            step_bps = self._addition_bps() * seconds
        self._rate_bps = min(self._rate_bps + round(step_bps), limit_bps)

    def _addition_bps(self) -> float:
        """How much the rate rises in a second near the capacity."""
        settings = self._settings
        frame_bytes = self._rate_bps / 8 / settings.frames_per_second
        packet_bytes = frame_bytes / ceil(frame_bytes / settings.packet_bytes)
        response_us = (self._rtt_us + settings.detector_us) * settings.response_times_per_packet
        return max(packet_bytes * 8_000_000 / response_us, settings.addition_min_bps)
