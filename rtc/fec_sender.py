"""FEC of an outgoing stream as packets: on an SSRC of its own (FlexFEC), or inside the stream (RED and ULPFEC)."""

from __future__ import annotations

from dataclasses import replace

from ..ratecontrol.pacer import PacketKind
from ..ratecontrol.rate_meter import RateMeter
from .messages import FlexfecStream, RedPayloadTypes
from .outgoing_packet import OutgoingPacket
from .packetizer import Packetizer
from .resilience.fec_protection import FecProtection
from .rtp.fec import FecPacket
from .rtp.flexfec import serialize_flexfec
from .rtp.packet import RtpPacket
from .rtp.red import wrap_red
from .rtp.ulpfec import serialize_ulpfec

# A FEC packet against the largest that it protects: its own fixed header, the longest mask and its stamps
# in place of the fixed header (rtp/flexfec.py, rtp/ulpfec.py).
FEC_BYTES = 44


class FecSender:
    """Makes FEC packets of a stream, of the kind that was agreed on."""

    def __init__(
        self,
        *,
        packetizer: Packetizer,
        protection: FecProtection,
        flexfec: FlexfecStream | None,
        red: RedPayloadTypes | None,
        first_sequence: int,
    ) -> None:
        """first_sequence is where FlexFEC's own numbers begin. Where both kinds are there, it is used."""
        self.protection = protection
        self._packetizer = packetizer
        self._flexfec = flexfec
        self._red = red if flexfec is None else None
        self._sequence = first_sequence
        self._rate = RateMeter()

    @property
    def is_possible(self) -> bool:
        """Whether the peer takes any kind."""
        return self._flexfec is not None or self._red is not None

    def bps(self, *, now_us: int) -> int:
        """What FEC takes of the rate."""
        return self._rate.bps(now_us=now_us)

    def on_wire(self, packet: RtpPacket) -> RtpPacket:
        """A media packet as it goes out: inside RED where FEC does."""
        return packet if self._red is None else wrap_red(packet, payload_type=self._red.red)

    def left(
        self, outgoing: OutgoingPacket, packet: RtpPacket, *, now_us: int
    ) -> list[OutgoingPacket]:
        """A media packet of the base layer left like this, but for RED; the FEC packets that are due."""
        if not self.is_possible or not self.protection.is_on:
            return []
        groups = self.protection.left(
            packet.sequence_number, packet.serialize(), ends_frame=packet.marker
        )
        return [
            self._outgoing(fec, fec_id=fec_id, last=outgoing, now_us=now_us)
            for fec_id, fec in groups
        ]

    def numbered(self, packet: RtpPacket) -> RtpPacket:
        """A FlexFEC packet with the next number of its stream."""
        sequence, self._sequence = self._sequence, (self._sequence + 1) & 0xFFFF
        return replace(packet, sequence_number=sequence)

    def shares_numbers(self, packet: RtpPacket) -> bool:
        """Whether this FEC packet is numbered among the media packets."""
        return self._flexfec is None or packet.ssrc != self._flexfec.ssrc

    def _outgoing(
        self, fec: FecPacket, *, fec_id: int, last: OutgoingPacket, now_us: int
    ) -> OutgoingPacket:
        media = last.packet
        if self._flexfec is not None:
            packet = RtpPacket(
                payload_type=self._flexfec.payload_type,
                marker=False,
                sequence_number=0,
                timestamp=media.timestamp,
                ssrc=self._flexfec.ssrc,
                payload=serialize_flexfec(fec),
            )
        else:
            packet = self._in_red(fec, media)
        size_bytes = self._packetizer.size_bytes(len(packet.payload), packet.extensions)
        self._rate.add(8 * size_bytes, now_us=now_us)
        return replace(
            last,
            packet=packet,
            kind=PacketKind.FEC,
            size_bytes=size_bytes,
            enqueued_us=now_us,
            fec_id=fec_id,
        )

    def _in_red(self, fec: FecPacket, media: RtpPacket) -> RtpPacket:
        assert self._red is not None
        block = replace(
            media,
            payload_type=self._red.ulpfec,
            marker=False,
            payload=serialize_ulpfec(fec),
            extensions=(),
        )
        return wrap_red(block, payload_type=self._red.red)
