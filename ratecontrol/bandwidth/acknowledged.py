"""How fast packets arrive: the acknowledged bitrate.

Source: libwebrtc, AcknowledgedBitrateEstimator and BitrateEstimator (a Bayesian estimate over
windows of arrival time). Ours: arrival times are the peer's word, so a window also counts as no
shorter than the sending of what arrived in it, and packets sent before it are left out. So the
figure never exceeds what was sent and acknowledged, whatever times the peer makes up.
"""

from __future__ import annotations

from dataclasses import dataclass

from .messages import SentPacket


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgedSettings:
    """Windows and how much one sample counts."""

    # libwebrtc kInitialRateWindowMs, kRateWindowMs.
    first_window_us: int = 500_000
    window_us: int = 150_000
    # libwebrtc BitrateEstimator: uncertainty_scale_, uncertainty_scale_in_alr_.
    uncertainty: float = 10.0
    uncertainty_in_alr: float = 20.0
    # libwebrtc BitrateEstimator: bitrate_estimate_var_ at first, added a sample, added when a fast
    # change is expected. In (kbps)^2.
    first_variance: float = 50.0
    sample_variance: float = 5.0
    change_variance: float = 200.0


class AcknowledgedBitrate:
    """Follows arrivals. One for each path."""

    def __init__(self, settings: AcknowledgedSettings | None = None) -> None:
        self._settings = settings or AcknowledgedSettings()
        self._kbps: float | None = None
        self._variance = self._settings.first_variance
        self._bytes = 0
        self._window_us = 0
        self._arrival_us: int | None = None
        # The newest packet's time of sending, and what it was when the window began.
        self._sent_us: int | None = None
        self._window_sent_us: int | None = None

    @property
    def bps(self) -> int | None:
        """The estimate; None until the first window is full."""
        return None if self._kbps is None else round(self._kbps * 1000)

    def expect_change(self) -> None:
        """Follow the next samples more quickly, as when an application-limited time has ended."""
        self._variance += self._settings.change_variance

    def handle_arrival(self, packet: SentPacket, *, arrival_us: int, in_alr: bool) -> None:
        """Take a packet; to be called in order of arrival."""
        first = self._kbps is None
        window_us = self._settings.first_window_us if first else self._settings.window_us
        sample_kbps = self._advance(arrival_us, window_us)
        if sample_kbps is not None:
            self._learn(sample_kbps, in_alr=in_alr)
        if self._window_sent_us is None or packet.sent_us > self._window_sent_us:
            self._bytes += packet.size_bytes
        if self._sent_us is None or packet.sent_us > self._sent_us:
            self._sent_us = packet.sent_us
        if self._window_sent_us is None:
            # Nothing was sent before the first packet; it counts itself.
            self._window_sent_us = self._sent_us - 1

    def _advance(self, arrival_us: int, window_us: int) -> float | None:
        """Move the window on to arrival_us; returns the rate of a window that is full."""
        previous_us = self._arrival_us
        self._arrival_us = arrival_us
        if previous_us is None:
            return None
        if arrival_us < previous_us:
            self._restart(0)
            return None
        gap_us = arrival_us - previous_us
        self._window_us += gap_us
        if gap_us > window_us:
            self._restart(self._window_us % window_us)
        if self._window_us < window_us:
            return None
        sent_us = self._sent_us or 0
        span_us = max(window_us, sent_us - (self._window_sent_us or 0))
        sample_kbps = 8_000 * self._bytes / span_us
        self._restart(self._window_us - window_us)
        return sample_kbps

    def _restart(self, window_us: int) -> None:
        self._window_us = window_us
        self._bytes = 0
        self._window_sent_us = self._sent_us

    def _learn(self, sample_kbps: float, *, in_alr: bool) -> None:
        if self._kbps is None:
            self._kbps = sample_kbps
            return
        settings = self._settings
        scale = settings.uncertainty_in_alr if in_alr else settings.uncertainty
        # A sample far from the estimate counts less. libwebrtc divides by the estimate alone,
        # which may be 0: one bit per millisecond keeps that defined.
        deviation = scale * abs(self._kbps - sample_kbps) / max(self._kbps, 1.0)
        sample_variance = deviation * deviation
        variance = self._variance + settings.sample_variance
        total = sample_variance + variance
        self._kbps = (sample_variance * self._kbps + variance * sample_kbps) / total
        self._variance = sample_variance * variance / total
