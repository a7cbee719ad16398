"""What a receiver answers its source: reports, requests for what is missing, requests for a key frame."""

from __future__ import annotations

import random

from .key_requests import KeyRequests
from .reception import Reception
from .resilience.nack import DEFAULT_RTT_US, NackTracker
from .rtp.packet import RtpPacket
from .rtp.rtcp import Nack, PictureLossIndication, ReceiverReport, RtcpMessage, SenderReport
from .stats import InboundCounters

# RFC 3550 6.2 asks for about 5 s at these rates; libwebrtc's video interval is 1 s, halved to one and a half at random.
REPORT_INTERVAL_US = 1_000_000


class ReceiverFeedback:
    """The RTCP for one source at a time, once its first packet came; ssrc is the one we answer from."""

    def __init__(
        self, *, ssrc: int, counters: InboundCounters, rng: random.Random, now_us: int
    ) -> None:
        self.rtt_us = DEFAULT_RTT_US
        self._ssrc = ssrc
        self._counters = counters
        self._rng = rng
        self._next_report_us = self._report_time(now_us)
        self.begin()

    def begin(self) -> None:
        """Start on a new source."""
        self.nacks = NackTracker()
        self.key_requests = KeyRequests()
        self._reception: Reception | None = None

    def measure(self, packet: RtpPacket, *, sequence: int, now_us: int) -> None:
        """Count a packet of the source that is not a retransmission; sequence is unwrapped."""
        if self._reception is None:
            self._reception = Reception(ssrc=packet.ssrc)
        reception = self._reception
        reception.packet(sequence=sequence, timestamp=packet.timestamp, now_us=now_us)
        self._counters.packetsLost = reception.packets_lost
        self._counters.jitter = reception.jitter

    def handle_sender_report(self, report: SenderReport, *, now_us: int) -> None:
        """Take a sender report of the source."""
        if self._reception is not None:
            self._reception.sender_report(ntp_timestamp=report.ntp_timestamp, now_us=now_us)

    def poll(self, *, now_us: int) -> list[RtcpMessage]:
        """Messages that are due."""
        if self._reception is None:
            return []
        media_ssrc = self._reception.ssrc
        messages: list[RtcpMessage] = []
        if now_us >= self._next_report_us:
            self._next_report_us = self._report_time(now_us)
            block = self._reception.report(now_us=now_us)
            messages.append(ReceiverReport(ssrc=self._ssrc, reports=(block,)))
        if lost := self.nacks.poll(now_us=now_us, rtt_us=self.rtt_us):
            self._counters.nackCount += 1
            numbers = tuple(s & 0xFFFF for s in lost)
            messages.append(Nack(sender_ssrc=self._ssrc, media_ssrc=media_ssrc, lost=numbers))
        if self.key_requests.poll(now_us=now_us, rtt_us=self.rtt_us):
            self._counters.pliCount += 1
            messages.append(PictureLossIndication(sender_ssrc=self._ssrc, media_ssrc=media_ssrc))
        return messages

    def poll_timeout(self) -> int | None:
        """When something is due if nothing arrives; None before the first packet."""
        if self._reception is None:
            return None
        times = (self.nacks.poll_timeout(), self.key_requests.poll_timeout(rtt_us=self.rtt_us))
        return min((t for t in times if t is not None), default=self._next_report_us)

    def _report_time(self, now_us: int) -> int:
        # RFC 3550 6.2: the interval varies over half to one and a half times its mean.
        return now_us + int(REPORT_INTERVAL_US * (0.5 + self._rng.random()))
