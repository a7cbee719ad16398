"""One RTP stream on its way out: its numbers, what it sends again, its FEC, and what became of its packets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..codecs.types import EncodedFrame
from ..ratecontrol.bandwidth.messages import Feedback
from ..ratecontrol.pacer import PacketKind
from .datagram import RTP_OVERHEAD_BYTES
from .fec_sender import FEC_BYTES, FecSender
from .flights import Flights, PacketFate
from .messages import FlexfecStream, NegotiatedCodec, RedPayloadTypes
from .outgoing_packet import OutgoingPacket
from .packetizer import Packetizer, StreamIdentity
from .repair_history import Repairable, RepairHistory
from .resilience.fec_protection import FecProtection
from .rtp.extensions import TRANSPORT_CC, ExtensionMap
from .rtp.packet import RTX_HEADER_BYTES, RtpPacket, wrap_rtx
from .stats import OutboundCounters


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """What signalling agreed on of a stream. Where both kinds of FEC were, FlexFEC is used."""

    identity: StreamIdentity
    codecs: tuple[NegotiatedCodec, ...]
    extensions: ExtensionMap
    flexfec: FlexfecStream | None = None
    red: RedPayloadTypes | None = None

    @property
    def has_fec(self) -> bool:
        """Whether either kind of FEC was agreed on."""
        return self.flexfec is not None or self.red is not None


class OutgoingStream:
    """One RTP stream with its RTX and FEC streams; the PacketSource of its packets.

    Sequence numbers and timestamps continue across codecs. A packet is numbered when it leaves, so a frame
    that never does leaves no gap.
    """

    def __init__(
        self,
        *,
        settings: StreamSettings,
        wall_offset_us: int,
        counters: OutboundCounters,
        protection: FecProtection,
        tell: Callable[[list[PacketFate], int], None],
    ) -> None:
        """tell takes what became of packets, in the order of sending, and the time.

        wall_offset_us is the wall clock (since 1900, as NTP counts) less the now_us clock.
        """
        self.identity = identity = settings.identity
        self._rtx_types = {c.payload_type: c.rtx_payload_type for c in settings.codecs}
        if settings.red is not None:
            self._rtx_types[settings.red.red] = settings.red.rtx
        self._extensions = settings.extensions
        self._counters = counters
        self._tell = tell
        self._sequence = identity.first_sequence
        self._rtx_sequence = identity.first_rtx_sequence
        self._history = RepairHistory()
        self._flights = Flights()
        self.packetizer = Packetizer(
            identity=identity,
            extensions=settings.extensions,
            wall_offset_us=wall_offset_us,
            reserved_bytes=RTX_HEADER_BYTES + settings.has_fec * FEC_BYTES,
        )
        self.fec = FecSender(
            packetizer=self.packetizer,
            protection=protection,
            flexfec=settings.flexfec,
            red=settings.red,
            first_sequence=identity.first_fec_sequence,
        )
        self._fec_due: list[OutgoingPacket] = []
        self._restart_id = 0
        self._is_broken = False

    @property
    def ssrc(self) -> int:
        """The media stream's SSRC."""
        return self.identity.ssrc

    @property
    def in_feedback(self) -> bool:
        """Whether its packets carry a transport-wide sequence number."""
        return TRANSPORT_CC in self._extensions

    @property
    def is_broken(self) -> bool:
        """Whether a frame was never sent, so that only a key or recovery frame can follow."""
        return self._is_broken

    def packets(
        self, frame: EncodedFrame, *, codec: NegotiatedCodec, is_recovery: bool, now_us: int
    ) -> list[OutgoingPacket]:
        """A frame's packets; none when it depends on a frame that was never sent."""
        restarts = frame.key or is_recovery
        if self._is_broken and not restarts:
            self._counters.framesExpired += 1
            return []
        if restarts:
            self._is_broken, self._restart_id = False, frame.frame_id
            self._history.restart(frame.frame_id)
        packets = self.packetizer.packets(frame, codec=codec, is_recovery=is_recovery)
        return [
            OutgoingPacket(
                source=self,
                packet=packet,
                kind=PacketKind.MEDIA,
                frame_id=frame.frame_id,
                key=restarts,
                size_bytes=size_bytes,
                enqueued_us=now_us,
                temporal_id=frame.temporal_id,
                index=index,
            )
            for index, (packet, size_bytes) in enumerate(packets)
        ]

    def retransmissions(
        self,
        lost: Iterable[int],
        *,
        budget_bytes: int,
        limit_bytes: int,
        now_us: int,
        rtt_us: int,
        upper_too: bool = True,
    ) -> list[OutgoingPacket] | None:
        """What was lost, each packet once a round trip, up to the first that the budget does not cover.

        upper_too tells whether packets of the upper temporal layer are worth it. None when all that is
        asked for takes more than limit_bytes.
        """
        due = self._history.due(lost, now_us=now_us, rtt_us=rtt_us, upper_too=upper_too)
        if sum(sent.outgoing.size_bytes for sent in due) > limit_bytes:
            return None
        packets: list[OutgoingPacket] = []
        for sent in due:
            packet = self._again(sent, kind=PacketKind.RETRANSMISSION, now_us=now_us)
            budget_bytes -= packet.size_bytes
            if budget_bytes < 0:
                break
            sent.resent_us = now_us
            packets.append(packet)
        return packets

    def padding(self, *, now_us: int) -> OutgoingPacket | None:
        """One of the newest packets once more, in turn; None without RTX."""
        sent = self._history.padding()
        if sent is None or self._rtx_types.get(sent.outgoing.packet.payload_type) is None:
            return None
        return self._again(sent, kind=PacketKind.PADDING, now_us=now_us)

    def repairable(self, sequence_number: int) -> Repairable | None:
        """A packet that left and may be sent again; None for any other number."""
        return self._history.get(sequence_number)

    def release(
        self,
        packet: OutgoingPacket,
        *,
        abs_send_time: int,
        transport_number: int | None,
        now_us: int,
    ) -> RtpPacket:
        """The packet as it leaves now, with its number and its time of sending."""
        stamps = self.packetizer.stamps(
            abs_send_time=abs_send_time,
            transport_sequence_number=None
            if transport_number is None
            else transport_number & 0xFFFF,
        )
        fixed = packet.packet
        numbered = self._numbered(packet, now_us=now_us)
        if transport_number is not None:
            self._flights.add(
                packet, number=transport_number, sequence_number=numbered.sequence_number
            )
        self._count(packet, now_us=now_us)
        leaving = replace(numbered, extensions=fixed.extensions + stamps)
        if packet.kind is not PacketKind.MEDIA:
            return leaving
        if packet.is_read:
            self._fec_due += self.fec.left(packet, leaving, now_us=now_us)
        return self.fec.on_wire(leaving)

    def take_fec(self) -> list[OutgoingPacket]:
        """FEC packets for what was released, to be sent next."""
        due, self._fec_due = self._fec_due, []
        return due

    def handle_feedback(self, feedback: Feedback) -> None:
        """Take what feedback says of the path's packets, its own among them."""
        fates = self._flights.fates(feedback)
        for fate in fates:
            if fate.arrived and fate.packet.kind is not PacketKind.FEC:
                self._history.arrived(fate.sequence_number)
        if fates:
            self._tell(fates, feedback.now_us)

    def recovered(self, sequence_number: int) -> Repairable | None:
        """The receiver has this packet by FEC; what it was."""
        self._history.arrived(sequence_number)
        return self._history.get(sequence_number)

    def expire(self, packets: Sequence[OutgoingPacket]) -> None:
        """Take back whole frames that waited too long to be sent."""
        self._counters.framesExpired += len({packet.frame_id for packet in packets})
        # A frame that restarts and waits behind them goes on where they end.
        self._is_broken |= any(p.is_read and p.frame_id >= self._restart_id for p in packets)

    def _numbered(self, packet: OutgoingPacket, *, now_us: int) -> RtpPacket:
        fixed = packet.packet
        if packet.kind is PacketKind.FEC:
            if packet.fec_id is not None:
                self.fec.protection.fec_left(packet.fec_id, now_us=now_us)
            if not self.fec.shares_numbers(fixed):
                return self.fec.numbered(fixed)
        elif packet.kind is not PacketKind.MEDIA:
            if fixed.ssrc != self.identity.rtx_ssrc:
                return fixed
            sequence, self._rtx_sequence = self._rtx_sequence, (self._rtx_sequence + 1) & 0xFFFF
            return replace(fixed, sequence_number=sequence)
        sequence, self._sequence = self._sequence, (self._sequence + 1) & 0xFFFF
        self._history.add(sequence, packet)
        return replace(fixed, sequence_number=sequence)

    def _again(self, sent: Repairable, *, kind: PacketKind, now_us: int) -> OutgoingPacket:
        """A packet once more, on the RTX stream where there is one."""
        outgoing = sent.outgoing
        packet, size_bytes = outgoing.packet, outgoing.size_bytes
        packet = replace(packet, sequence_number=sent.sequence_number)
        if (rtx_type := self._rtx_types.get(packet.payload_type)) is not None:
            packet = wrap_rtx(
                packet, payload_type=rtx_type, ssrc=self.identity.rtx_ssrc, sequence_number=0
            )
            size_bytes += RTX_HEADER_BYTES
        return replace(
            outgoing,
            packet=packet,
            kind=kind,
            size_bytes=size_bytes,
            enqueued_us=now_us,
            repeats=sent.sequence_number,
        )

    def _count(self, packet: OutgoingPacket, *, now_us: int) -> None:
        counters, payload_bytes = self._counters, len(packet.packet.payload)
        counters.packetsSent += 1
        counters.bytesSent += payload_bytes
        counters.headerBytesSent += packet.size_bytes - RTP_OVERHEAD_BYTES - payload_bytes
        counters.totalPacketSendDelayUs += max(0, now_us - packet.enqueued_us)
        if packet.kind is PacketKind.MEDIA:
            counters.framesSent += packet.packet.marker
        elif packet.kind is PacketKind.RETRANSMISSION:
            counters.retransmittedPacketsSent += 1
            counters.retransmittedBytesSent += payload_bytes
        elif packet.kind is PacketKind.FEC:
            counters.fecPacketsSent += 1
            counters.fecBytesSent += payload_bytes
