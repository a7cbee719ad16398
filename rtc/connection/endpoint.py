"""What the transport hands raw packets to."""

from __future__ import annotations

from abc import abstractmethod

from ..rtp.rtcp import RtcpMessage


class CoreEndpoint:
    """A sender or receiver of ours. While runs_core is false, aiortc's own implementation serves."""

    runs_core = False

    @abstractmethod
    def handle_rtp_data(self, data: bytes, *, arrival_us: int) -> None:
        """Take a whole RTP packet, header extensions and all."""

    @abstractmethod
    def handle_rtcp_message(self, message: RtcpMessage) -> None:
        """Take an RTCP message of the transport, concerning this stream or not."""

    @abstractmethod
    def count_malformed_rtcp(self, packets: int) -> None:
        """Note how many RTCP packets of a datagram could not be read; whom they concerned is unknown."""
