"""Sender reports, and the round-trip time that their answers tell (RFC 3550 6.4.1)."""

from __future__ import annotations

import random

from .rtp.extensions import ntp_from_us
from .rtp.rtcp import (
    Bye,
    ReceiverReport,
    ReportBlock,
    RtcpMessage,
    SenderReport,
    SourceDescription,
    serialize_rtcp,
)
from .stats import OutboundCounters

# libwebrtc's video RTCP interval; RFC 3550 6.2 varies it over half to one and a half times.
REPORT_INTERVAL_US = 1_000_000
# RFC 3550 leaves the smoothing open; aiortc's and RFC 6298's older samples weigh 7/8.
RTT_WEIGHT = 8
# ours: with a report a second a round trip of 5 s is told; of one that is not, losses are met as if it were 100 ms.
MAX_UNANSWERED = 8


class SenderReports:
    """When a stream reports, and what is said of it in return."""

    def __init__(
        self, *, ssrc: int, cname: str, rng: random.Random, now_us: int, wall_offset_us: int
    ) -> None:
        """wall_offset_us is the wall clock (since 1900, as NTP counts) less the now_us clock."""
        self._ssrc = ssrc
        self._cname = cname
        self._rng = rng
        self._wall_offset_us = wall_offset_us
        self._sent: dict[int, int] = {}
        self._rtt_us: int | None = None
        self._next_us = self._time(now_us)

    @property
    def rtt_us(self) -> int | None:
        """Smoothed round-trip time, None before the first answer."""
        return self._rtt_us

    @property
    def next_us(self) -> int:
        """When the next report is due."""
        return self._next_us

    def poll(self, *, rtp_timestamp: int, counters: OutboundCounters, now_us: int) -> list[bytes]:
        """A report, if it is due and media was sent; rtp_timestamp is that of now_us."""
        if now_us < self._next_us:
            return []
        self._next_us = self._time(now_us)
        if not counters.packetsSent:
            return []
        ntp = ntp_from_us(now_us + self._wall_offset_us)
        self._sent[(ntp >> 16) & 0xFFFFFFFF] = now_us
        while len(self._sent) > MAX_UNANSWERED:
            del self._sent[next(iter(self._sent))]
        report = SenderReport(
            ssrc=self._ssrc,
            ntp_timestamp=ntp,
            rtp_timestamp=rtp_timestamp,
            packet_count=counters.packetsSent & 0xFFFFFFFF,
            octet_count=counters.bytesSent & 0xFFFFFFFF,
        )
        return [serialize_rtcp([report, SourceDescription(ssrc=self._ssrc, cname=self._cname)])]

    def bye(self) -> bytes:
        """The RTCP packet that says that the stream ends."""
        return serialize_rtcp([Bye(ssrcs=(self._ssrc,))])

    def about_stream(self, message: RtcpMessage) -> list[ReportBlock]:
        """What a message reports of the stream."""
        if not isinstance(message, SenderReport | ReceiverReport):
            return []
        return [report for report in message.reports if report.ssrc == self._ssrc]

    def handle(self, report: ReportBlock, *, counters: OutboundCounters, now_us: int) -> int | None:
        """Take what the receiver says of the stream; the round-trip time, where it tells one."""
        counters.remotePacketsLost = report.packets_lost
        counters.remoteFractionLost = report.fraction_lost
        counters.remoteJitter = report.jitter
        sent_us = self._sent.get(report.last_sr)
        if sent_us is None:
            return None
        sample_us = now_us - sent_us - (report.delay_since_last_sr * 1_000_000 >> 16)
        if sample_us < 0:
            return None
        old = self._rtt_us
        self._rtt_us = sample_us if old is None else old + (sample_us - old) // RTT_WEIGHT
        counters.roundTripTimeUs = self._rtt_us
        return self._rtt_us

    def _time(self, now_us: int) -> int:
        return now_us + int(REPORT_INTERVAL_US * (0.5 + self._rng.random()))
