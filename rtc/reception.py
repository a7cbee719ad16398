"""What an RTP receiver reports of a source (RFC 3550 6.4.1, A.3 and A.8)."""

from __future__ import annotations

from .messages import VIDEO_CLOCK_HZ
from .rtp.rtcp import ReportBlock

_LOST_MAX = (1 << 23) - 1  # RFC 3550 section 6.4.1: signed 24 bits


class Reception:
    """Counts a source's packets and measures its interarrival jitter; sequence numbers unwrapped."""

    def __init__(self, *, ssrc: int) -> None:
        self.ssrc = ssrc
        self.received = 0
        self._base: int | None = None
        self._highest = 0
        self._expected_prior = 0
        self._received_prior = 0
        self._jitter_q4 = 0
        self._transit: int | None = None
        self._last_timestamp: int | None = None
        self._sr_middle = 0
        self._sr_arrival_us: int | None = None

    @property
    def jitter(self) -> int:
        """Interarrival jitter in timestamp units."""
        return self._jitter_q4 >> 4

    @property
    def packets_lost(self) -> int:
        """Expected less received; negative when duplicates outnumber losses."""
        return max(-_LOST_MAX - 1, min(self._expected - self.received, _LOST_MAX))

    def packet(self, *, sequence: int, timestamp: int, now_us: int) -> None:
        """Count a packet of the source, not a retransmission."""
        self.received += 1
        if self._base is None:
            self._base = self._highest = sequence
        self._base = min(self._base, sequence)
        if sequence < self._highest:
            return
        self._highest = sequence
        if timestamp != self._last_timestamp:
            self._measure_jitter(timestamp, now_us)
        self._last_timestamp = timestamp

    def sender_report(self, *, ntp_timestamp: int, now_us: int) -> None:
        """Note a sender report, which the next report block echoes."""
        self._sr_middle = (ntp_timestamp >> 16) & 0xFFFFFFFF
        self._sr_arrival_us = now_us

    def report(self, *, now_us: int) -> ReportBlock:
        """The report block of the interval since the last one."""
        expected = self._expected - self._expected_prior
        lost = expected - (self.received - self._received_prior)
        self._expected_prior, self._received_prior = self._expected, self.received
        fraction = min(255, (lost << 8) // expected) if expected > 0 and lost > 0 else 0
        delay_us = now_us - self._sr_arrival_us if self._sr_arrival_us is not None else 0
        return ReportBlock(
            ssrc=self.ssrc,
            fraction_lost=fraction,
            packets_lost=self.packets_lost,
            highest_sequence=self._highest & 0xFFFFFFFF,
            jitter=self.jitter & 0xFFFFFFFF,
            last_sr=self._sr_middle,
            delay_since_last_sr=min((delay_us << 16) // 1_000_000, 0xFFFFFFFF),
        )

    @property
    def _expected(self) -> int:
        return 0 if self._base is None else self._highest - self._base + 1

    def _measure_jitter(self, timestamp: int, now_us: int) -> None:
        transit = now_us * VIDEO_CLOCK_HZ // 1_000_000 - timestamp
        if self._transit is not None:
            # RFC 3550 A.8, in sixteenths.
            self._jitter_q4 += abs(transit - self._transit) - ((self._jitter_q4 + 8) >> 4)
        self._transit = transit
