"""When to probe for more than the estimate, and how high.

Source: libwebrtc, ProbeController. Ours: the start-up probes wait until the sources have told what
they would send; after feedback was missing the rate before that is probed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from .messages import ProbeCluster

MICRO = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    """How high, how long and how often."""

    # libwebrtc first_exponential_probe_scale, second_exponential_probe_scale.
    start_ratios: tuple[float, ...] = (3.0, 6.0)
    # libwebrtc further_exponential_probe_scale, further_probe_threshold: twice the estimate again
    # while it reaches this part of the last probe.
    further_ratio: float = 2.0
    further_threshold: float = 0.7
    # libwebrtc alr_probing_interval, alr_probe_scale.
    alr_interval_us: int = 5_000_000
    alr_ratio: float = 2.0
    # libwebrtc first_allocation_probe_scale, second_allocation_probe_scale.
    demand_ratios: tuple[float, ...] = (1.0, 2.0)
    # libwebrtc GoogCcNetworkController: no probe above twice what the sources would send.
    max_demand_ratio: int = 2
    # libwebrtc kDefaultMaxProbingBitrate.
    max_bps: int = 5_000_000
    # libwebrtc min_probe_packets_sent, min_probe_duration.
    min_packets: int = 5
    duration_us: int = 15_000
    # libwebrtc kMaxWaitingTimeForProbingResult.
    result_us: int = 1_000_000
    # libwebrtc kBitrateDropThreshold, kBitrateDropTimeoutMs, kMinTimeBetweenAlrProbesMs,
    # kProbeFractionAfterDrop, kProbeUncertainty, kAlrEndedTimeoutMs.
    drop_ratio: float = 0.66
    drop_us: int = 5_000_000
    drop_interval_us: int = 5_000_000
    drop_probe_ratio: float = 0.85
    drop_uncertainty: float = 0.05
    alr_ended_us: int = 3_000_000
    # libwebrtc probes after a drop only in, or soon after, an application-limited region.
    drop_needs_alr: bool = True


class _State(Enum):
    START = auto()
    WAITING = auto()
    COMPLETE = auto()


class ProbeController:
    """Decides on probe clusters. One for each path."""

    def __init__(self, settings: ProbeSettings | None = None, *, estimate_bps: int) -> None:
        self._settings = settings or ProbeSettings()
        self._state = _State.START
        self._estimate_bps = estimate_bps
        self._demand_bps = 0
        self._pending: deque[int] = deque()
        self._next_id = 0
        self._further_bps: float | None = None
        # The last probe, or the decision to make one.
        self._probed_us = 0
        self._alr_since_us: int | None = None
        self._alr_ended_us: int | None = None
        self._dropped_us: int | None = None
        self._before_drop_bps = 0
        self._asked_us: int | None = None

    def set_demand(self, demand_bps: int, *, now_us: int) -> None:
        """Take what the sources would send at most; a higher demand is probed where none was used."""
        higher = demand_bps > self._demand_bps
        self._demand_bps = demand_bps
        if self._state is _State.START and demand_bps > 0:
            ratios = self._settings.start_ratios
            rates = [self._estimate_bps * ratio for ratio in ratios]
            self._begin(rates, further=True, now_us=now_us)
        elif (
            higher
            and self._is_idle(now_us)
            and self._alr_since_us is not None
            and self._estimate_bps < demand_bps
        ):
            rates = [demand_bps * ratio for ratio in self._settings.demand_ratios]
            self._begin(rates, further=False, now_us=now_us)

    def set_alr(self, since_us: int | None, *, now_us: int) -> None:
        """Take since when the sources use little of the estimate; None when they use it."""
        if since_us is None and self._alr_since_us is not None:
            self._alr_ended_us = now_us
        self._alr_since_us = since_us

    def set_estimate(self, estimate_bps: int, *, now_us: int) -> None:
        """Take the estimate; one that came near the last probe asks for the next."""
        previous_bps, self._estimate_bps = self._estimate_bps, estimate_bps
        if estimate_bps < self._settings.drop_ratio * previous_bps:
            self._dropped_us = now_us
            self._before_drop_bps = previous_bps
        further_bps = self._further_bps
        if self._state is not _State.WAITING or self._pending:
            return
        if now_us - self._probed_us > self._settings.result_us:
            self._complete()
        elif further_bps is not None and estimate_bps > further_bps:
            rate_bps = estimate_bps * self._settings.further_ratio
            self._begin([rate_bps], further=True, now_us=now_us)

    def handle_recovery(self, *, now_us: int) -> None:
        """The path is no longer overused: see whether a large drop was no more than a moment."""
        settings = self._settings
        if self._dropped_us is None or not self._is_idle(now_us):
            return
        if settings.drop_needs_alr and not self._is_near_alr(now_us):
            return
        rate_bps = settings.drop_probe_ratio * self._before_drop_bps
        worthwhile = rate_bps * (1 - settings.drop_uncertainty) > self._estimate_bps
        recent = now_us - self._dropped_us < settings.drop_us
        rested = self._asked_us is None or now_us - self._asked_us > settings.drop_interval_us
        if worthwhile and recent and rested:
            self._asked_us = now_us
            self._begin([rate_bps], further=False, now_us=now_us)

    def request(self, rate_bps: int, *, now_us: int) -> None:
        """Probe at this rate, as far as the sources need it, unless a probe is under way."""
        if self._is_idle(now_us):
            self._begin([float(rate_bps)], further=True, now_us=now_us)

    def poll(self, *, now_us: int) -> ProbeCluster | None:
        """The cluster to send now, once."""
        due_us = self._alr_due_us()
        if due_us is not None and now_us >= due_us and self._is_idle(now_us):
            rate_bps = self._estimate_bps * self._settings.alr_ratio
            self._begin([rate_bps], further=True, now_us=now_us)
        if not self._pending:
            return None
        rate_bps = self._pending.popleft()
        self._probed_us = now_us
        self._next_id += 1
        return ProbeCluster(
            probe_id=self._next_id,
            rate_bps=rate_bps,
            min_packets=self._settings.min_packets,
            min_bytes=rate_bps * self._settings.duration_us // (8 * MICRO),
        )

    def poll_timeout(self) -> int | None:
        """When poll() has a cluster if nothing else happens."""
        return self._probed_us if self._pending else self._alr_due_us()

    def _begin(self, rates: Iterable[float], *, further: bool, now_us: int) -> None:
        limit_bps = self._limit_bps()
        self._pending.clear()
        for rate in rates:
            rate_bps = min(int(rate), limit_bps)
            if rate_bps > self._estimate_bps:
                self._pending.append(rate_bps)
            if rate >= limit_bps:
                further = False
                break
        self._probed_us = now_us
        self._state = _State.WAITING
        self._further_bps = None
        if further and self._pending:
            self._further_bps = self._settings.further_threshold * self._pending[-1]

    def _complete(self) -> None:
        self._state = _State.COMPLETE
        self._further_bps = None

    def _is_idle(self, now_us: int) -> bool:
        """Whether no probe waits to be sent or for its result."""
        if self._state is _State.WAITING and not self._pending:
            answered = now_us - self._probed_us > self._settings.result_us
            if answered or self._further_bps is None:
                self._complete()
        return self._state is _State.COMPLETE

    def _is_near_alr(self, now_us: int) -> bool:
        if self._alr_since_us is not None:
            return True
        ended_us = self._alr_ended_us
        return ended_us is not None and now_us - ended_us < self._settings.alr_ended_us

    def _alr_due_us(self) -> int | None:
        """When the next periodic probe is due; None where the sources need no more."""
        if self._state is _State.START or self._alr_since_us is None or self._pending:
            return None
        if self._estimate_bps >= self._limit_bps():
            return None
        return max(self._alr_since_us, self._probed_us) + self._settings.alr_interval_us

    def _limit_bps(self) -> int:
        return min(self._demand_bps * self._settings.max_demand_ratio, self._settings.max_bps)
