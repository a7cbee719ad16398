"""RTP packets to what the receiver core works with: payload types, retransmissions, unwrapped numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..codecs.errors import RemoteError
from ..codecs.types import Codec
from .messages import NegotiatedCodec, ReceivedFrame, RedPayloadTypes
from .playout.packet_buffer import MediaPacket
from .resilience.lost_layer import LossLayers
from .rtp.av1_payload import assemble_av1, is_av1_key_start
from .rtp.dependency_descriptor import DependencyDescriptorReader
from .rtp.extensions import HeaderExtensions, us_from_ntp
from .rtp.h264_payload import assemble_h264, is_h264_key, is_h264_sequence_start
from .rtp.packet import RtpPacket, unwrap_rtx
from .rtp.unwrap import Unwrapper


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """A packet without payload: only its number counts."""

    sequence: int


class PacketReader:
    """Reads one source's packets. Keeps the unwrappers and the dependency descriptor's structure."""

    def __init__(
        self, *, codecs: Sequence[NegotiatedCodec], red: RedPayloadTypes | None = None
    ) -> None:
        self._codecs = {c.payload_type: c for c in codecs}
        self._rtx = {c.rtx_payload_type: c.payload_type for c in codecs if c.rtx_payload_type}
        if red is not None and red.rtx is not None:
            self._rtx[red.rtx] = red.red
        self._sequences = Unwrapper(16)
        self._timestamps = Unwrapper(32)
        self._frame_numbers = Unwrapper(16)
        self._descriptors = DependencyDescriptorReader()
        self.layers = LossLayers(self._descriptors)

    def is_media(self, packet: RtpPacket) -> bool:
        """Whether it is a packet of the media stream itself."""
        return packet.payload_type in self._codecs

    def is_retransmission(self, packet: RtpPacket) -> bool:
        """Whether it is a packet of the retransmission stream (RFC 4588)."""
        return packet.payload_type in self._rtx

    def original(self, packet: RtpPacket, *, ssrc: int) -> RtpPacket | None:
        """The packet that a retransmission carries, None for a probe that carries none.

        Raises RemoteError for a payload too short to tell.
        """
        return unwrap_rtx(packet, payload_type=self._rtx[packet.payload_type], ssrc=ssrc)

    def sequence(self, number: int) -> int:
        """The unwrapped sequence number that a 16-bit one stands for now."""
        return self._sequences.peek(number)

    def codec(self, packet: MediaPacket) -> NegotiatedCodec:
        """The codec that a packet belongs to."""
        return self._codecs[packet.payload_type]

    def read(
        self, packet: RtpPacket, *, values: HeaderExtensions, recovered: bool, now_us: int
    ) -> MediaPacket | Padding:
        """What a packet holds; values are its header extensions.

        One without a payload, or of no codec (FEC in the media stream), is padding.
        """
        sequence = self._sequences.unwrap(packet.sequence_number)
        if not packet.payload or not self.is_media(packet):
            return Padding(sequence=sequence)
        codec = self._codecs[packet.payload_type].codec
        capture, descriptor = values.abs_capture_time, values.dependency_descriptor
        return MediaPacket(
            sequence=sequence,
            timestamp=self._timestamps.unwrap(packet.timestamp),
            payload_type=packet.payload_type,
            marker=packet.marker,
            payload=packet.payload,
            of_key=_of_key(codec, packet.payload),
            starts_frame=_starts_frame(codec, packet.payload, descriptor=descriptor),
            descriptor=descriptor,
            capture_wall_us=None if capture is None else us_from_ntp(capture.ntp_timestamp),
            arrival_us=now_us,
            recovered=recovered,
            ltr=values.ltr,
        )

    def assemble(self, packets: Sequence[MediaPacket]) -> ReceivedFrame:
        """A whole frame from its packets, in order.

        Raises MissingStructure when its descriptor's structure has not come yet, RemoteError when
        the packets do not make a frame.
        """
        first, last = packets[0], packets[-1]
        if len({p.payload_type for p in packets}) > 1:
            raise RemoteError("one frame in two payload types")
        codec = self._codecs[first.payload_type].codec
        description = None if first.descriptor is None else self._descriptors.read(first.descriptor)
        payloads = [p.payload for p in packets]
        frame_id = first.sequence
        dependencies: tuple[int, ...] | None = None
        if description is not None:
            frame_id = self._frame_numbers.unwrap(description.frame_number)
            dependencies = tuple(frame_id - fdiff for fdiff in description.fdiffs)
        return ReceivedFrame(
            data=assemble_av1(payloads) if codec is Codec.AV1 else assemble_h264(payloads),
            codec=codec,
            key=any(p.of_key for p in packets) if dependencies is None else not dependencies,
            frame_id=frame_id,
            temporal_id=0 if description is None else description.temporal_id,
            dependencies=dependencies,
            first_sequence=first.sequence,
            last_sequence=last.sequence,
            rtp_timestamp=first.timestamp,
            capture_wall_us=first.capture_wall_us,
            first_us=min(p.arrival_us for p in packets),
            complete_us=max(p.arrival_us for p in packets),
            recovered=any(p.recovered for p in packets),
            ltr=first.ltr,
        )


def _of_key(codec: Codec, payload: bytes) -> bool:
    return is_av1_key_start(payload) if codec is Codec.AV1 else is_h264_key(payload)


def _starts_frame(codec: Codec, payload: bytes, *, descriptor: bytes | None) -> bool | None:
    if descriptor:
        # AV1 RTP specification A.8.1: start_of_frame is the descriptor's first bit.
        return bool(descriptor[0] & 0x80)
    starts = is_av1_key_start(payload) if codec is Codec.AV1 else is_h264_sequence_start(payload)
    return True if starts else None
