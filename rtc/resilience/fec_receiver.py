"""FEC as it was negotiated: which packets are FEC, what RED wraps, and what both give back."""

from __future__ import annotations

from collections.abc import Collection

from ..messages import FlexfecStream, RedPayloadTypes
from ..rtp.fec import FecPacket
from ..rtp.flexfec import parse_flexfec
from ..rtp.packet import RtpPacket
from ..rtp.red import unwrap_red
from ..rtp.ulpfec import parse_ulpfec
from ..stats import InboundCounters
from .fec_recovery import NOTHING, FecRecovery, Recovery


class FecReceiver:
    """FEC of one media source. Without negotiation no packet is FEC, and nothing is stored."""

    def __init__(
        self,
        *,
        flexfec: FlexfecStream | None,
        red: RedPayloadTypes | None,
        enabled: bool,
        stamp_ids: Collection[int],
        counters: InboundCounters,
    ) -> None:
        """Not enabled, FEC is told from media all the same, and left unused."""
        self._flexfec = flexfec
        self._red = red
        self._counters = counters
        negotiated = flexfec is not None or red is not None
        self._recovery = (
            FecRecovery(stamp_ids=stamp_ids, counters=counters) if enabled and negotiated else None
        )

    def is_flexfec(self, packet: RtpPacket) -> bool:
        """Whether it is a packet of the FlexFEC stream."""
        flexfec = self._flexfec
        return (
            flexfec is not None
            and packet.payload_type == flexfec.payload_type
            and packet.ssrc == flexfec.ssrc
        )

    def is_ulpfec(self, packet: RtpPacket) -> bool:
        """Whether it is FEC in the media stream, as unwrap() gives it."""
        return self._red is not None and packet.payload_type == self._red.ulpfec

    def unwrap(self, packet: RtpPacket, data: bytes) -> tuple[RtpPacket, bytes]:
        """The packet within RED, parsed and as bytes; any other packet as it is.

        Raises RemoteError for blocks longer than the payload.
        """
        if self._red is None or packet.payload_type != self._red.red or not packet.payload:
            return packet, data
        inner = unwrap_red(packet)
        start = len(data) - packet.padding_bytes - len(packet.payload)
        end = start + len(packet.payload) - len(inner.payload)
        marker_and_type = bytes((inner.marker << 7 | inner.payload_type,))
        return inner, data[:1] + marker_and_type + data[2:start] + data[end:]

    def flexfec(self, packet: RtpPacket, *, media_ssrc: int | None, now_us: int) -> Recovery:
        """Take a packet of the FlexFEC stream. Raises RemoteError for one that cannot be read."""
        self._count(packet)
        return self._take(parse_flexfec(packet.payload), media_ssrc=media_ssrc, now_us=now_us)

    def original(self, packet: RtpPacket, data: bytes, *, now_us: int) -> Recovery:
        """Take a packet of the media stream that is no retransmission, as unwrap() gives it.

        Raises RemoteError for FEC that cannot be read.
        """
        if self.is_ulpfec(packet):
            self._count(packet)
            fec = parse_ulpfec(packet.payload, media_ssrc=packet.ssrc)
            return self._take(fec, media_ssrc=packet.ssrc, now_us=now_us)
        if self._recovery is None:
            return NOTHING
        return self._recovery.media(packet.sequence_number, data, now_us=now_us)

    def wait_us(self, now_us: int) -> int:
        """How long the FEC of a packet that is missing now may still take to come."""
        return 0 if self._recovery is None else self._recovery.wait_us(now_us)

    def _take(self, fec: FecPacket, *, media_ssrc: int | None, now_us: int) -> Recovery:
        if self._recovery is None or fec.media_ssrc != media_ssrc:
            self._counters.fecPacketsDiscarded += 1
            return NOTHING
        return self._recovery.parity(fec, now_us=now_us)

    def _count(self, packet: RtpPacket) -> None:
        self._counters.fecPacketsReceived += 1
        self._counters.fecBytesReceived += len(packet.payload)
