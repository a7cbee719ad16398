"""Whether the path's queue grows: the slope of the delay against an adaptive threshold.

Source: draft-ietf-rmcat-gcc-02 sections 5.3 and 5.4 with the line fit in place of the Kalman
filter; the rules and constants are those of libwebrtc, TrendlineEstimator.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from operator import mul

from .arrival_groups import GroupDelta


class Usage(Enum):
    """What the slope says of the path."""

    NORMAL = "normal"
    OVERUSE = "overuse"
    UNDERUSE = "underuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendlineSettings:
    """The fit, the threshold and how it adapts."""

    # libwebrtc kDefaultTrendlineWindowSize, kDefaultTrendlineSmoothingCoeff.
    window: int = 20
    smoothing: float = 0.9
    # libwebrtc kDefaultTrendlineThresholdGain, kMinNumDeltas: the slope counts times both.
    gain: float = 4.0
    max_deltas: int = 60
    # libwebrtc TrendlineEstimator: threshold_ and what it is clamped to.
    threshold_ms: float = 12.5
    threshold_min_ms: float = 6.0
    threshold_max_ms: float = 600.0
    # libwebrtc k_up_, k_down_, kMaxAdaptOffsetMs, kMaxTimeDeltaMs.
    k_up: float = 0.0087
    k_down: float = 0.039
    max_adapt_offset_ms: float = 15.0
    max_adapt_step_ms: float = 100.0
    # libwebrtc kOverUsingTimeThreshold.
    overuse_ms: float = 10.0


class Trendline:
    """Follows the delay of groups. One for each path."""

    def __init__(self, settings: TrendlineSettings | None = None) -> None:
        self._settings = settings or TrendlineSettings()
        self.reset()

    def reset(self) -> None:
        """Forget everything, as after a long silence."""
        self.usage = Usage.NORMAL
        self._times_ms: deque[float] = deque(maxlen=self._settings.window)
        self._delays_ms: deque[float] = deque(maxlen=self._settings.window)
        self._origin_us: int | None = None
        self._deltas = 0
        self._delay_ms = 0.0
        self._smoothed_ms = 0.0
        self._slope = 0.0
        self._previous_slope = 0.0
        self._threshold_ms = self._settings.threshold_ms
        self._adapted_us: int | None = None
        self._over_ms: float | None = None
        self._over_groups = 0

    @property
    def slope(self) -> float:
        """Growth of the delay, in seconds a second."""
        return self._slope

    @property
    def threshold_ms(self) -> float:
        """The threshold in force."""
        return self._threshold_ms

    def handle_group(self, delta: GroupDelta) -> Usage:
        """Take the delay of one more group."""
        settings = self._settings
        if self._origin_us is None:
            self._origin_us = delta.arrival_us
        self._deltas = min(self._deltas + 1, settings.max_deltas)
        self._delay_ms += delta.delay_delta_us / 1000
        self._smoothed_ms += (1 - settings.smoothing) * (self._delay_ms - self._smoothed_ms)
        self._times_ms.append((delta.arrival_us - self._origin_us) / 1000)
        self._delays_ms.append(self._smoothed_ms)
        if len(self._times_ms) == settings.window:
            self._slope = _fit(self._times_ms, self._delays_ms, default=self._slope)
        if self._deltas >= 2:
            signal_ms = self._deltas * self._slope * settings.gain
            self._detect(signal_ms, delta.send_delta_us / 1000)
            self._previous_slope = self._slope
            self._adapt(signal_ms, delta.arrival_us)
        return self.usage

    def _detect(self, signal_ms: float, send_delta_ms: float) -> None:
        if signal_ms > self._threshold_ms:
            # libwebrtc: the first group over the threshold was over it for half its time.
            if self._over_ms is None:
                self._over_ms = send_delta_ms / 2
            else:
                self._over_ms += send_delta_ms
            self._over_groups += 1
            long_enough = self._over_ms > self._settings.overuse_ms and self._over_groups > 1
            if long_enough and self._slope >= self._previous_slope:
                self._over_ms = 0.0
                self._over_groups = 0
                self.usage = Usage.OVERUSE
            return
        self._over_ms = None
        self._over_groups = 0
        self.usage = Usage.UNDERUSE if signal_ms < -self._threshold_ms else Usage.NORMAL

    def _adapt(self, signal_ms: float, arrival_us: int) -> None:
        settings = self._settings
        since_us = arrival_us if self._adapted_us is None else self._adapted_us
        self._adapted_us = arrival_us
        over_ms = abs(signal_ms) - self._threshold_ms
        if over_ms > settings.max_adapt_offset_ms:
            return
        k = settings.k_down if over_ms < 0 else settings.k_up
        step_ms = min((arrival_us - since_us) / 1000, settings.max_adapt_step_ms)
        threshold_ms = self._threshold_ms + k * over_ms * max(step_ms, 0.0)
        low_ms, high_ms = settings.threshold_min_ms, settings.threshold_max_ms
        self._threshold_ms = min(max(threshold_ms, low_ms), high_ms)


def _fit(times: deque[float], values: deque[float], *, default: float) -> float:
    """Slope of the least-squares line; default where all times are one."""
    count = len(times)
    first = times[0]
    xs = [time - first for time in times]
    sum_x = sum(xs)
    covariance = sum(map(mul, xs, values)) - sum_x * sum(values) / count
    variance = sum(map(mul, xs, xs)) - sum_x * sum_x / count
    return covariance / variance if variance > 0 else default
