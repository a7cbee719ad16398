"""The packets of one media source to whole frames: retransmissions and RED unwrapped, FEC used, gaps noted."""

from __future__ import annotations

from dataclasses import dataclass

from ..codecs.errors import RemoteError
from .frame_assembly import FrameAssembly
from .messages import NegotiatedCodec, ReceivedFrame
from .packet_reader import PacketReader, Padding
from .playout.packet_buffer import MediaPacket, PacketBuffer
from .receiver_feedback import ReceiverFeedback
from .receiver_settings import ReceiverSettings
from .resilience.fec_receiver import FecReceiver
from .resilience.fec_recovery import NOTHING, Recovery
from .resilience.ltr_receiver import PeerAcks
from .resilience.settings import Switch
from .rtp.extensions import HeaderExtensions
from .rtp.packet import RtpPacket, parse_rtp
from .stats import InboundCounters


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A packet of a media stream, without what wrapped it; data is the packet as FEC protects it."""

    packet: RtpPacket
    values: HeaderExtensions
    data: bytes
    retransmission: bool


class IncomingMedia:
    """Takes what belongs to a source, once the receiver follows it."""

    def __init__(
        self, settings: ReceiverSettings, *, counters: InboundCounters, feedback: ReceiverFeedback
    ) -> None:
        """feedback has begun on the source."""
        self.peer_acks = PeerAcks()
        self._extensions = settings.extensions
        self._counters = counters
        self._feedback = feedback
        self._nacks = feedback.nacks
        self._reader = PacketReader(codecs=settings.codecs, red=settings.red)
        self._assembly = FrameAssembly(
            self._reader,
            codec=settings.codecs[0],
            counters=counters,
            key_requests=feedback.key_requests,
        )
        self._fec = FecReceiver(
            flexfec=settings.flexfec,
            red=settings.red,
            enabled=settings.resilience.fec is not Switch.OFF,
            stamp_ids=settings.extensions.stamp_ids,
            counters=counters,
        )

    @property
    def codec(self) -> NegotiatedCodec:
        """The codec that came last."""
        return self._assembly.codec

    @property
    def buffer(self) -> PacketBuffer:
        """The packets of frames that are not whole."""
        return self._assembly.buffer

    def is_flexfec(self, packet: RtpPacket) -> bool:
        """Whether it is a packet of the FlexFEC stream."""
        return self._fec.is_flexfec(packet)

    def wait_us(self, now_us: int) -> int:
        """How long FEC may take to give back what is missing now."""
        return self._fec.wait_us(now_us)

    def arrival(
        self, packet: RtpPacket, values: HeaderExtensions, *, data: bytes, media_ssrc: int | None
    ) -> Arrival | None:
        """The packet of a media stream that arrived as packet and data; None when it is none.

        media_ssrc is what retransmissions belong to. Raises RemoteError for a wrapping that cannot be read.
        """
        retransmission = self._reader.is_retransmission(packet) and media_ssrc is not None
        if retransmission and media_ssrc is not None:
            original = self._reader.original(packet, ssrc=media_ssrc)
            if original is None:
                return None
            packet = original
        packet, data = self._fec.unwrap(packet, data)
        if not (self._reader.is_media(packet) or self._fec.is_ulpfec(packet)):
            self._counters.packetsDiscarded += 1
            return None
        return Arrival(packet=packet, values=values, data=data, retransmission=retransmission)

    def take(self, arrival: Arrival, *, now_us: int) -> list[ReceivedFrame]:
        """Take a packet of the source; the frames that became whole."""
        packet, values, retransmission = arrival.packet, arrival.values, arrival.retransmission
        self._counters.packetsReceived += 1
        self._counters.retransmittedPacketsReceived += retransmission
        self._counters.bytesReceived += len(packet.payload)
        media = self._reader.read(packet, values=values, recovered=retransmission, now_us=now_us)
        if retransmission:
            # Its header may differ from that of the packet that FEC protects.
            return self._insert(media, now_us=now_us)
        self._feedback.measure(packet, sequence=media.sequence, now_us=now_us)
        if values.ltr_ack is not None:
            self.peer_acks.received(values.ltr_ack)
        frames = self._insert(media, now_us=now_us)
        try:
            recovery = self._fec.original(packet, arrival.data, now_us=now_us)
        except RemoteError:
            self._counters.malformedRtp += 1
            recovery = NOTHING
        return frames + self._take_recovery(recovery, now_us=now_us)

    def take_flexfec(
        self, packet: RtpPacket, *, media_ssrc: int | None, now_us: int
    ) -> list[ReceivedFrame]:
        """Take a packet of the FlexFEC stream. Raises RemoteError for one that cannot be read."""
        recovery = self._fec.flexfec(packet, media_ssrc=media_ssrc, now_us=now_us)
        return self._take_recovery(recovery, now_us=now_us)

    def _take_recovery(self, recovery: Recovery, *, now_us: int) -> list[ReceivedFrame]:
        """Take what FEC gave back, and ask soon for what it was waited for in vain."""
        frames: list[ReceivedFrame] = []
        for data in recovery.recovered:
            try:
                packet = parse_rtp(data)
                values = self._extensions.unpack(packet)
            except RemoteError:
                self._counters.malformedRtp += 1
                continue
            if self._reader.is_media(packet):
                media = self._reader.read(packet, values=values, recovered=True, now_us=now_us)
                frames += self._insert(media, now_us=now_us)
        lost = [self._reader.sequence(number) for number in recovery.unrecovered]
        self._nacks.hasten(lost, now_us=now_us)
        return frames

    def _insert(self, media: MediaPacket | Padding, *, now_us: int) -> list[ReceivedFrame]:
        layers, sequence = self._reader.layers, media.sequence
        descriptor = media.descriptor if isinstance(media, MediaPacket) else None
        layer = wait_us = 0
        if self._nacks.opens_gap(sequence):
            layer = layers.before(descriptor)
            # FEC protects the base layer alone.
            wait_us = 0 if layer else self._fec.wait_us(now_us)
        self._nacks.received(sequence, now_us=now_us, layer=layer, wait_us=wait_us)
        if isinstance(media, MediaPacket):
            layers.received(sequence, descriptor)
        return self._assembly.insert(media)
