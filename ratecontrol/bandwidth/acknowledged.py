"""How fast packets arrive: the acknowledged bitrate.

Source: libwebrtc, AcknowledgedBitrateEstimator and BitrateEstimator (a Bayesian estimate over
windows of arrival time). Ours: arrival times are the peer's word, so no sample counts for more than
was sent, by our own clock, of what the last half second's acknowledgements speak of.
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
    # Ours: over this many steps what was sent is summed, with the step under way: at most a tenth
    # above the rate of an even source, so the quantization of samples is hardly ever cut.
    sent_step_us: int = 50_000
    sent_steps: int = 10


class AcknowledgedBitrate:
    """Follows arrivals. One for each path."""

    def __init__(self, settings: AcknowledgedSettings | None = None) -> None:
        self._settings = settings or AcknowledgedSettings()
        self._kbps: float | None = None
        self._variance = self._settings.first_variance
        self._bytes = 0
        self._window_us = 0
        self._arrival_us: int | None = None
        # Bytes acknowledged of each step of our clock in which packets were sent.
        self._sent_bytes: dict[int, int] = {}
        self._sent_step = 0

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
            self._learn(min(sample_kbps, self._sent_kbps()), in_alr=in_alr)
        self._bytes += packet.size_bytes
        self._count_sent(packet)

    def _advance(self, arrival_us: int, window_us: int) -> float | None:
        """Move the window on to arrival_us; returns the rate of a window that is full."""
        gap_us = 0 if self._arrival_us is None else arrival_us - self._arrival_us
        self._arrival_us = arrival_us
        if gap_us < 0:
            self._restart(0)
            return None
        self._window_us += gap_us
        if gap_us > window_us:
            self._restart(self._window_us % window_us)
        if self._window_us < window_us:
            return None
        sample_kbps = 8_000 * self._bytes / window_us
        self._restart(self._window_us - window_us)
        return sample_kbps

    def _restart(self, window_us: int) -> None:
        """Begin a window of which window_us have passed."""
        self._window_us = window_us
        self._bytes = 0

    def _count_sent(self, packet: SentPacket) -> None:
        step = packet.sent_us // self._settings.sent_step_us
        if step > self._sent_step:
            self._sent_step = step
            oldest = step - self._settings.sent_steps
            self._sent_bytes = {s: size for s, size in self._sent_bytes.items() if s >= oldest}
        if step >= self._sent_step - self._settings.sent_steps:
            self._sent_bytes[step] = self._sent_bytes.get(step, 0) + packet.size_bytes

    def _sent_kbps(self) -> float:
        """How fast what was acknowledged had been sent."""
        span_us = self._settings.sent_steps * self._settings.sent_step_us
        return 8_000 * sum(self._sent_bytes.values()) / span_us

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
