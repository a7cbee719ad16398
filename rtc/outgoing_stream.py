"""Encoded frames to RTP packets: numbers, timestamps, header extensions and the history for retransmission."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..codecs.types import Codec, EncodedFrame
from ..ratecontrol.pacer import PacketKind
from .datagram import RTP_OVERHEAD_BYTES
from .messages import VIDEO_CLOCK_HZ, NegotiatedCodec
from .outgoing_packet import OutgoingPacket
from .repair_history import Repairable, RepairHistory
from .rtp.av1_payload import packetize_av1
from .rtp.dependency_descriptor import MAX_CHAIN_FDIFF, DependencyDescriptorWriter
from .rtp.extensions import (
    DEPENDENCY_DESCRIPTOR,
    TRANSPORT_CC,
    AbsCaptureTime,
    ExtensionMap,
    HeaderExtensions,
    ntp_from_us,
)
from .rtp.h264_payload import packetize_h264
from .rtp.header_extensions import serialize_extensions
from .rtp.packet import HEADER_BYTES, RTX_HEADER_BYTES, RtpPacket, wrap_rtx
from .stats import OutboundCounters

# libwebrtc's kVideoMtu: with IP, UDP, SRTP and TURN around it a packet still fits 1280 bytes.
MAX_PACKET_BYTES = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamIdentity:
    """What signalling says of the stream, and where its numbers begin."""

    ssrc: int
    rtx_ssrc: int
    mid: str | None
    first_sequence: int
    first_rtx_sequence: int
    first_timestamp: int


class _Head(NamedTuple):
    """A packet's extensions without its times of sending, and its datagram's size without its payload."""

    extensions: tuple[tuple[int, bytes], ...]
    size_bytes: int


class OutgoingStream:
    """One RTP stream and its RTX stream; the PacketSource of its packets.

    Sequence numbers and timestamps continue across codecs. A packet is numbered when it leaves, so a frame
    that never does leaves no gap.
    """

    def __init__(
        self,
        *,
        identity: StreamIdentity,
        codecs: Iterable[NegotiatedCodec],
        extensions: ExtensionMap,
        wall_offset_us: int,
        counters: OutboundCounters,
    ) -> None:
        """wall_offset_us is the wall clock (since 1900, as NTP counts) less the now_us clock."""
        self.identity = identity
        self._rtx_types = {c.payload_type: c.rtx_payload_type for c in codecs}
        self._extensions = extensions
        self._wall_offset_us = wall_offset_us
        self._counters = counters
        self._sequence = identity.first_sequence
        self._rtx_sequence = identity.first_rtx_sequence
        self._history = RepairHistory()
        self._descriptors = DependencyDescriptorWriter()
        self._last_base_id = 0
        self._last_key_id = 0
        self._needs_key = False
        # What the times of sending look like on the wire, to know sizes beforehand.
        self._stamps = self._pack_stamps(abs_send_time=0, transport_sequence_number=0)

    @property
    def ssrc(self) -> int:
        """The media stream's SSRC."""
        return self.identity.ssrc

    @property
    def in_feedback(self) -> bool:
        """Whether its packets carry a transport-wide sequence number."""
        return TRANSPORT_CC in self._extensions

    @property
    def needs_key(self) -> bool:
        """Whether a frame was never sent, so that nothing but a key frame can follow."""
        return self._needs_key

    def timestamp(self, capture_us: int) -> int:
        """The RTP timestamp (90 kHz) of a capture time."""
        elapsed = capture_us * VIDEO_CLOCK_HZ // 1_000_000
        return (self.identity.first_timestamp + elapsed) & 0xFFFFFFFF

    def packets(
        self, frame: EncodedFrame, *, codec: NegotiatedCodec, now_us: int
    ) -> list[OutgoingPacket]:
        """A frame's packets; none when it depends on a frame that was never sent."""
        if self._needs_key and not frame.key:
            self._counters.framesExpired += 1
            return []
        if frame.key:
            self._needs_key, self._last_key_id = False, frame.frame_id
        first = self._head(frame, first=True, last=False)
        middle = self._head(frame, first=False, last=False)
        payloads = self._payloads(frame, first=first, others=middle)
        last = self._head(frame, first=len(payloads) == 1, last=True)
        heads = [middle] * len(payloads)
        heads[0], heads[-1] = first, last
        if frame.temporal_id == 0:
            self._last_base_id = frame.frame_id
        packet = RtpPacket(
            payload_type=codec.payload_type,
            marker=False,
            sequence_number=0,
            timestamp=self.timestamp(frame.capture_us),
            ssrc=self.identity.ssrc,
            payload=b"",
        )
        return [
            OutgoingPacket(
                source=self,
                packet=replace(
                    packet, marker=head is last, payload=payload, extensions=head.extensions
                ),
                kind=PacketKind.MEDIA,
                frame_id=frame.frame_id,
                key=frame.key,
                size_bytes=head.size_bytes + len(payload),
                enqueued_us=now_us,
            )
            for payload, head in zip(payloads, heads, strict=True)
        ]

    def retransmissions(
        self,
        lost: Iterable[int],
        *,
        budget_bytes: int,
        limit_bytes: int,
        now_us: int,
        rtt_us: int,
    ) -> list[OutgoingPacket] | None:
        """What was lost, each packet once a round trip, up to the first that the budget does not cover.

        None when all that is asked for takes more than limit_bytes.
        """
        due = self._history.due(lost, now_us=now_us, rtt_us=rtt_us)
        if sum(sent.outgoing.size_bytes for sent in due) > limit_bytes:
            return None
        packets: list[OutgoingPacket] = []
        for sent in due:
            packet = self._again(sent, PacketKind.RETRANSMISSION, now_us)
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
        return self._again(sent, PacketKind.PADDING, now_us)

    def release(
        self,
        packet: OutgoingPacket,
        *,
        abs_send_time: int,
        transport_sequence_number: int | None,
        now_us: int,
    ) -> RtpPacket:
        """The packet as it leaves now, with its number and its time of sending."""
        fixed = packet.packet
        if packet.kind is PacketKind.MEDIA:
            sequence, self._sequence = self._sequence, (self._sequence + 1) & 0xFFFF
            self._history.add(sequence, packet)
        elif fixed.ssrc == self.identity.rtx_ssrc:
            sequence, self._rtx_sequence = self._rtx_sequence, (self._rtx_sequence + 1) & 0xFFFF
        else:
            sequence = fixed.sequence_number
        self._count(packet, now_us=now_us)
        stamps = self._pack_stamps(
            abs_send_time=abs_send_time, transport_sequence_number=transport_sequence_number
        )
        return replace(fixed, sequence_number=sequence, extensions=fixed.extensions + stamps)

    def expire(self, packets: Sequence[OutgoingPacket]) -> None:
        """Take back whole frames that waited too long to be sent."""
        expired = {packet.frame_id for packet in packets}
        self._counters.framesExpired += len(expired)
        # A key frame that waits behind them goes on where they end.
        self._needs_key = self._needs_key or max(expired) >= self._last_key_id

    def _again(self, sent: Repairable, kind: PacketKind, now_us: int) -> OutgoingPacket:
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
            outgoing, packet=packet, kind=kind, size_bytes=size_bytes, enqueued_us=now_us
        )

    def _pack_stamps(
        self, *, abs_send_time: int, transport_sequence_number: int | None
    ) -> tuple[tuple[int, bytes], ...]:
        values = HeaderExtensions(
            abs_send_time=abs_send_time, transport_sequence_number=transport_sequence_number
        )
        return self._extensions.pack(values)

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

    def _payloads(self, frame: EncodedFrame, *, first: _Head, others: _Head) -> list[bytes]:
        room = MAX_PACKET_BYTES + RTP_OVERHEAD_BYTES - RTX_HEADER_BYTES
        first_bytes, other_bytes = room - first.size_bytes, room - others.size_bytes
        if frame.codec is Codec.AV1:
            return packetize_av1(
                frame.data,
                max_payload_bytes=other_bytes,
                first_max_payload_bytes=first_bytes,
                new_sequence=frame.key,
            )
        return packetize_h264(frame.data, max_payload_bytes=min(first_bytes, other_bytes))

    def _head(self, frame: EncodedFrame, *, first: bool, last: bool) -> _Head:
        extensions = self._extensions.pack(self._values(frame, first=first, last=last))
        all_extensions = extensions + self._stamps
        block_bytes = len(serialize_extensions(all_extensions)) if all_extensions else 0
        return _Head(extensions, HEADER_BYTES + block_bytes + RTP_OVERHEAD_BYTES)

    def _values(self, frame: EncodedFrame, *, first: bool, last: bool) -> HeaderExtensions:
        return HeaderExtensions(
            mid=self.identity.mid,
            abs_capture_time=self._capture_time(frame) if first else None,
            dependency_descriptor=self._describe(frame, first=first, last=last),
        )

    def _capture_time(self, frame: EncodedFrame) -> AbsCaptureTime:
        return AbsCaptureTime(ntp_timestamp=ntp_from_us(frame.capture_us + self._wall_offset_us))

    def _describe(self, frame: EncodedFrame, *, first: bool, last: bool) -> bytes | None:
        if frame.codec is not Codec.AV1 or DEPENDENCY_DESCRIPTOR not in self._extensions:
            return None
        chain_fdiff = 0 if frame.key else frame.frame_id - self._last_base_id
        return self._descriptors.write(
            frame_number=frame.frame_id & 0xFFFF,
            first=first,
            last=last,
            key=frame.key,
            temporal_id=frame.temporal_id,
            fdiffs=tuple(frame.frame_id - d for d in frame.dependencies),
            chain_fdiff=chain_fdiff if chain_fdiff <= MAX_CHAIN_FDIFF else 0,
            attach_structure=frame.key and first,
        )
