"""The receiver's estimate of the path for senders that know no better (REMB), by aiortc's own estimator."""

from __future__ import annotations

from aiortc.rate import RemoteBitrateEstimator

from ..rtp.extensions import ExtensionMap
from ..rtp.packet import RtpPacket
from ..rtp.rtcp import ReceiverEstimatedMaximumBitrate, serialize_rtcp


class RembSource:
    """Watches send times on the way in; says when a new estimate should be sent."""

    def __init__(self, *, ssrc: int, extensions: ExtensionMap) -> None:
        self._ssrc = ssrc
        self._extensions = extensions
        self._estimator = RemoteBitrateEstimator()

    def packet(self, packet: RtpPacket, *, arrival_us: int) -> bytes | None:
        """Take a packet; the RTCP packet that it calls for, if any."""
        sent = self._extensions.unpack(packet).abs_send_time
        if sent is None:
            return None
        estimate = self._estimator.add(
            abs_send_time=sent,
            arrival_time_ms=arrival_us // 1000,
            payload_size=len(packet.payload) + packet.padding_bytes,
            ssrc=packet.ssrc,
        )
        if estimate is None:
            return None
        bitrate_bps, ssrcs = estimate
        message = ReceiverEstimatedMaximumBitrate(
            sender_ssrc=self._ssrc, bitrate_bps=bitrate_bps, ssrcs=tuple(ssrcs)
        )
        return serialize_rtcp([message])
