"""When the audio that is being played was captured, by RTCP sender reports (RFC 3550 6.4.1)."""

from __future__ import annotations

from aiortc.rtp import RtcpSrPacket

from ..rtp.extensions import us_from_ntp


class AudioTimes:
    """Relates an audio source's RTP timestamps to its sender's wall clock."""

    def __init__(self, *, clock_rate: int) -> None:
        self._clock_rate = clock_rate
        self._report: RtcpSrPacket | None = None

    def sender_report(self, report: RtcpSrPacket) -> None:
        """Take the source's newest report; one sent before any packet relates nothing."""
        if report.sender_info.packet_count:
            self._report = report

    def capture_wall_us(self, rtp_timestamp: int) -> int | None:
        """The sender's wall clock (since 1900) at a 32-bit timestamp; None before a report."""
        if self._report is None:
            return None
        info = self._report.sender_info
        behind = ((rtp_timestamp - info.rtp_timestamp + 0x80000000) & 0xFFFFFFFF) - 0x80000000
        return us_from_ntp(info.ntp_timestamp) + behind * 1_000_000 // self._clock_rate
