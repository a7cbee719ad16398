"""Encoded frames to RTP packets: numbers, timestamps, header extensions and the history for retransmission."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..codecs.types import Codec, EncodedFrame
from .messages import VIDEO_CLOCK_HZ, NegotiatedCodec
from .rtp.av1_payload import packetize_av1
from .rtp.dependency_descriptor import MAX_CHAIN_FDIFF, DependencyDescriptorWriter
from .rtp.extensions import (
    DEPENDENCY_DESCRIPTOR,
    AbsCaptureTime,
    ExtensionMap,
    HeaderExtensions,
    abs_send_time,
    ntp_from_us,
)
from .rtp.h264_payload import packetize_h264
from .rtp.header_extensions import serialize_extensions
from .rtp.packet import HEADER_BYTES, RTX_HEADER_BYTES, RtpPacket, wrap_rtx

# libwebrtc's kVideoMtu: with IP, UDP, SRTP and TURN around it a packet still fits 1280 bytes.
MAX_PACKET_BYTES = 1200
# webrtc.md's libwebrtc baseline is 600 packets; ours: two seconds at 5 Mbps.
HISTORY_PACKETS = 1024


@dataclass(slots=True)
class _Sent:
    packet: RtpPacket
    values: HeaderExtensions
    resent_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamIdentity:
    """What signalling says of the stream, and where its numbers begin."""

    ssrc: int
    rtx_ssrc: int
    mid: str | None
    first_sequence: int
    first_rtx_sequence: int
    first_timestamp: int


class OutgoingStream:
    """One RTP stream and its RTX stream. Sequence numbers and timestamps continue across codecs."""

    def __init__(
        self, *, identity: StreamIdentity, extensions: ExtensionMap, wall_offset_us: int
    ) -> None:
        """wall_offset_us is the wall clock (since 1900, as NTP counts) less the now_us clock."""
        self.identity = identity
        self._extensions = extensions
        self._wall_offset_us = wall_offset_us
        self._sequence = identity.first_sequence
        self._rtx_sequence = identity.first_rtx_sequence
        self._queue: deque[tuple[RtpPacket, HeaderExtensions]] = deque()
        self._history: OrderedDict[int, _Sent] = OrderedDict()
        self._descriptors = DependencyDescriptorWriter()
        self._last_base_id = 0

    def timestamp(self, capture_us: int) -> int:
        """The RTP timestamp (90 kHz) of a capture time."""
        elapsed = capture_us * VIDEO_CLOCK_HZ // 1_000_000
        return (self.identity.first_timestamp + elapsed) & 0xFFFFFFFF

    def add_frame(self, frame: EncodedFrame, *, codec: NegotiatedCodec) -> int:
        """Queue a frame's packets; returns how many they are."""
        payloads = self._payloads(frame)
        last = len(payloads) - 1
        for i, payload in enumerate(payloads):
            packet = RtpPacket(
                payload_type=codec.payload_type,
                marker=i == last,
                sequence_number=self._sequence,
                timestamp=self.timestamp(frame.capture_us),
                ssrc=self.identity.ssrc,
                payload=payload,
            )
            self._sequence = (self._sequence + 1) & 0xFFFF
            values = self._values(frame, first=i == 0, last=i == last)
            self._queue.append((packet, values))
        if frame.temporal_id == 0:
            self._last_base_id = frame.frame_id
        return len(payloads)

    def retransmit(
        self,
        lost: Iterable[int],
        *,
        codecs: Iterable[NegotiatedCodec],
        budget_bytes: int,
        now_us: int,
        rtt_us: int,
    ) -> tuple[int, int]:
        """Queue again what was lost, each packet once a round trip; (packets, payload bytes).

        It ends at the packet whose payload the budget does not cover.
        """
        rtx_types = {c.payload_type: c.rtx_payload_type for c in codecs}
        queued = queued_bytes = 0
        for number in lost:
            sent = self._history.get(number)
            if sent is None or (sent.resent_us is not None and now_us - sent.resent_us < rtt_us):
                continue
            packet = sent.packet
            if queued_bytes + len(packet.payload) + RTX_HEADER_BYTES > budget_bytes:
                break
            sent.resent_us = now_us
            if (rtx_type := rtx_types.get(packet.payload_type)) is not None:
                packet = wrap_rtx(
                    packet,
                    payload_type=rtx_type,
                    ssrc=self.identity.rtx_ssrc,
                    sequence_number=self._rtx_sequence,
                )
                self._rtx_sequence = (self._rtx_sequence + 1) & 0xFFFF
            self._queue.append((packet, sent.values))
            queued += 1
            queued_bytes += len(packet.payload)
        return queued, queued_bytes

    def poll(self, *, now_us: int) -> list[RtpPacket]:
        """The packets to send now, stamped with their time of sending."""
        packets = []
        while self._queue:
            packet, values = self._queue.popleft()
            stamped = replace(values, abs_send_time=abs_send_time(now_us + self._wall_offset_us))
            packets.append(replace(packet, extensions=self._extensions.pack(stamped)))
            if packet.ssrc == self.identity.ssrc and packet.sequence_number not in self._history:
                self._remember(packet, values)
        return packets

    def _remember(self, packet: RtpPacket, values: HeaderExtensions) -> None:
        self._history[packet.sequence_number] = _Sent(packet=packet, values=values)
        while len(self._history) > HISTORY_PACKETS:
            self._history.popitem(last=False)

    def _payloads(self, frame: EncodedFrame) -> list[bytes]:
        room = MAX_PACKET_BYTES - HEADER_BYTES - RTX_HEADER_BYTES
        first = room - self._extension_bytes(frame, first=True)
        others = room - self._extension_bytes(frame, first=False)
        if frame.codec is Codec.AV1:
            return packetize_av1(
                frame.data,
                max_payload_bytes=others,
                first_max_payload_bytes=first,
                new_sequence=frame.key,
            )
        return packetize_h264(frame.data, max_payload_bytes=min(first, others))

    def _extension_bytes(self, frame: EncodedFrame, *, first: bool) -> int:
        values = replace(self._values(frame, first=first, last=False), abs_send_time=0)
        return len(serialize_extensions(self._extensions.pack(values)))

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
