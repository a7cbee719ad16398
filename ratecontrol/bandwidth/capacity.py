"""What the bottleneck carries, from the spacing of packets that had to queue there.

A packet that reached the bottleneck before the one ahead of it had left was served right after it:
the gap between their arrivals is the time the bottleneck took for it. Frames that leave faster than
the estimate make such packets all the time, so that the capacity is measured without probes and
before a queue has grown (packet-train dispersion: Dovrolis et al., "Packet-dispersion techniques
and a capacity-estimation methodology", 2004).
"""

from __future__ import annotations

import math

from .codesign_settings import CodesignSettings

# ours: packets that left closer together than this belong to one frame's burst.
BURST_US = 15_000
# ours: what one unqueued packet of a burst may add, and how much of what it shows is believed.
BURST_GAIN = 0.15
BURST_STEP_MAX = 0.25
# ours: what the slow mean needs to have seen before it counts.
SLOW_MIN_US = 100_000


class Capacity:
    """Falls and rises with what queued packets show, and grows while nothing queues."""

    def __init__(self, settings: CodesignSettings, *, start_bps: int) -> None:
        self._settings = settings
        self._bps = float(start_bps)
        # Bits and time of queued packets, fading; None: to begin anew from the estimate.
        self._bits: float | None = None
        self._time_us = 0.0
        self._slow_bits = self._slow_time_us = 0.0
        # What the path was seen to carry lately, and whether a return to it is under way.
        self._seen_bps = 0.0
        self._memory_bps = 0.0
        self._is_returning = False

    @property
    def bps(self) -> float:
        """The estimate."""
        return self._bps

    @property
    def is_measured(self) -> bool:
        """Whether queued packets have shown it yet."""
        return self._slow_time_us > SLOW_MIN_US

    @property
    def slow_bps(self) -> float:
        """The greater of the estimate and the mean of the last seconds: what sizes cost at least."""
        if not self.is_measured:
            return self._bps
        return max(self._bps, self._slow_bits * 1e6 / self._slow_time_us)

    def queued(self, size_bytes: int, *, gap_us: int, limit_bps: float) -> None:
        """A packet was served right after the one before, which arrived gap_us earlier.

        The gap is the peer's word: limit_bps bounds where it may lead.
        """
        settings, bits = self._settings, size_bytes * 8
        gap_us = min(gap_us, settings.longest_gap_us)
        if self._bits is None:
            self._bits = self._bps * settings.fading_us / 1e6
            self._time_us = float(settings.fading_us)
        kept = math.exp(-gap_us / settings.fading_us)
        self._bits = self._bits * kept + bits
        self._time_us = self._time_us * kept + gap_us
        kept = math.exp(-gap_us / settings.slow_fading_us)
        self._slow_bits = self._slow_bits * kept + bits
        self._slow_time_us = self._slow_time_us * kept + gap_us
        measured_bps = max(settings.min_bps, self._bits * 1e6 / self._time_us)
        self._bps = min(measured_bps, max(self._bps, limit_bps))
        self._bits = min(self._bits, self._bps * self._time_us / 1e6)
        self._seen_bps = self._bps

    def unqueued(self, size_bytes: int, *, gap_us: int, sent_gap_us: int, limit_bps: float) -> None:
        """A packet of a burst did not have to queue: the path carries at least what was sent.

        limit_bps bounds where this may lead.
        """
        if not 0 < sent_gap_us < BURST_US:
            return
        shown_bps = size_bytes * 8e6 / max(gap_us, sent_gap_us)
        if self._bps < shown_bps:
            step = min(BURST_STEP_MAX, BURST_GAIN * (shown_bps / self._bps - 1))
            self._raise(self._bps * (1 + step), limit_bps)
            self._seen_bps = max(self._seen_bps, self._bps)

    def pass_time(self, elapsed_us: int, *, queue_us: float) -> None:
        """Let memory fade; a return that ends in a queue has failed, and half of its way is given up."""
        settings = self._settings
        self._memory_bps *= math.exp(-elapsed_us / settings.memory_us)
        self._memory_bps = max(self._memory_bps, min(self._bps, self._seen_bps))
        failed = queue_us > settings.failing_queue_us and self._bps < self._memory_bps
        if failed and self._is_returning:
            self._memory_bps = (self._bps + self._memory_bps) / 2
            self._is_returning = False

    def grow(self, elapsed_us: int, *, answer_us: float, limit_bps: float) -> None:
        """Nothing queues: try for more, fast as long as nothing ever has, or back to what was carried.

        answer_us is how long it takes to see what comes of it: fast is no faster than that allows.
        """
        settings, elapsed_s = self._settings, elapsed_us / 1e6
        is_below = self._bps < settings.return_below_ratio * self._memory_bps
        if is_below or not self.is_measured:
            self._is_returning = is_below
            per_s = min(settings.return_per_s, settings.return_per_answer * 1e6 / answer_us)
            more_bps = per_s * self._bps
        else:
            more_bps = min(settings.growth_per_s * self._bps, settings.growth_bps_per_s)
        self._raise(self._bps + more_bps * elapsed_s, limit_bps)

    def lower_to(self, bps: float) -> None:
        """Take no more than this for carried."""
        if bps < self._bps:
            self._bps = max(self._settings.min_bps, bps)
            self._bits = None

    def raise_to(self, bps: float) -> None:
        """Take at least this for carried."""
        self._raise(bps, bps)

    def _raise(self, bps: float, limit_bps: float) -> None:
        raised_bps = max(self._bps, min(bps, limit_bps))
        if raised_bps > self._bps:
            self._bps = raised_bps
            if self._bits is not None:
                self._bits = raised_bps * self._time_us / 1e6
