"""An encoded frame to the packets of one stream, all but their numbers and their times of sending."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from ..codecs.types import Codec, EncodedFrame
from .datagram import RTP_OVERHEAD_BYTES
from .messages import VIDEO_CLOCK_HZ, NegotiatedCodec
from .rtp.av1_payload import packetize_av1
from .rtp.dependency_descriptor import MAX_CHAIN_FDIFF, DependencyDescriptorWriter
from .rtp.extensions import (
    DEPENDENCY_DESCRIPTOR,
    AbsCaptureTime,
    ExtensionMap,
    HeaderExtensions,
    LtrMark,
    ntp_from_us,
)
from .rtp.h264_payload import packetize_h264
from .rtp.header_extensions import serialize_extensions
from .rtp.packet import HEADER_BYTES, RtpPacket

# libwebrtc's kVideoMtu: with IP, UDP, SRTP and TURN around it a packet still fits 1280 bytes.
MAX_PACKET_BYTES = 1200

_ID_MASK = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamIdentity:
    """What signalling says of the stream, and where its numbers begin."""

    ssrc: int
    rtx_ssrc: int
    mid: str | None
    first_sequence: int
    first_rtx_sequence: int
    first_timestamp: int
    first_fec_sequence: int = 0


class _Head(NamedTuple):
    """A packet's extensions without its times of sending, and its datagram's size without its payload."""

    extensions: tuple[tuple[int, bytes], ...]
    size_bytes: int


class Packetizer:
    """Packets of one stream, whatever the codec: they continue one line of timestamps."""

    def __init__(
        self,
        *,
        identity: StreamIdentity,
        extensions: ExtensionMap,
        wall_offset_us: int,
        reserved_bytes: int,
    ) -> None:
        """wall_offset_us is the wall clock (since 1900, as NTP counts) less the now_us clock.

        reserved_bytes of each packet are left for what may be put around it.
        """
        self.ltr_ack: int | None = None
        """The 16-bit frame_id of the peer's newest long-term reference that was decoded."""
        self._identity = identity
        self._extensions = extensions
        self._wall_offset_us = wall_offset_us
        self._reserved_bytes = reserved_bytes
        self._descriptors = DependencyDescriptorWriter()
        self._last_base_id = 0
        # What the times of sending look like on the wire, to know sizes beforehand.
        self._stamps = self.stamps(abs_send_time=0, transport_sequence_number=0)

    def timestamp(self, capture_us: int) -> int:
        """The RTP timestamp (90 kHz) of a capture time."""
        elapsed = capture_us * VIDEO_CLOCK_HZ // 1_000_000
        return (self._identity.first_timestamp + elapsed) & 0xFFFFFFFF

    def stamps(
        self, *, abs_send_time: int, transport_sequence_number: int | None
    ) -> tuple[tuple[int, bytes], ...]:
        """The extensions that are written as a packet leaves."""
        values = HeaderExtensions(
            abs_send_time=abs_send_time, transport_sequence_number=transport_sequence_number
        )
        return self._extensions.pack(values)

    def size_bytes(self, payload_bytes: int, extensions: tuple[tuple[int, bytes], ...]) -> int:
        """The datagram of a packet with these extensions, and its times of sending beside them."""
        all_extensions = extensions + self._stamps
        block_bytes = len(serialize_extensions(all_extensions)) if all_extensions else 0
        return HEADER_BYTES + block_bytes + payload_bytes + RTP_OVERHEAD_BYTES

    def packets(
        self, frame: EncodedFrame, *, codec: NegotiatedCodec, is_recovery: bool
    ) -> list[tuple[RtpPacket, int]]:
        """A frame's packets, each with the size of its datagram.

        is_recovery is for a frame that reads a long-term reference and nothing that may be lost.
        """
        first = self._head(frame, first=True, last=False, is_recovery=is_recovery)
        middle = self._head(frame, first=False, last=False, is_recovery=is_recovery)
        payloads = self._payloads(frame, first=first, others=middle)
        last = self._head(frame, first=len(payloads) == 1, last=True, is_recovery=is_recovery)
        heads = [middle] * len(payloads)
        heads[0], heads[-1] = first, last
        if frame.temporal_id == 0:
            self._last_base_id = frame.frame_id
        packet = RtpPacket(
            payload_type=codec.payload_type,
            marker=False,
            sequence_number=0,
            timestamp=self.timestamp(frame.capture_us),
            ssrc=self._identity.ssrc,
            payload=b"",
        )
        return [
            (
                replace(packet, marker=head is last, payload=payload, extensions=head.extensions),
                head.size_bytes + len(payload),
            )
            for payload, head in zip(payloads, heads, strict=True)
        ]

    def _payloads(self, frame: EncodedFrame, *, first: _Head, others: _Head) -> list[bytes]:
        room = MAX_PACKET_BYTES + RTP_OVERHEAD_BYTES - self._reserved_bytes
        first_bytes, other_bytes = room - first.size_bytes, room - others.size_bytes
        if frame.codec is Codec.AV1:
            return packetize_av1(
                frame.data,
                max_payload_bytes=other_bytes,
                first_max_payload_bytes=first_bytes,
                new_sequence=frame.key,
            )
        return packetize_h264(frame.data, max_payload_bytes=min(first_bytes, other_bytes))

    def _head(self, frame: EncodedFrame, *, first: bool, last: bool, is_recovery: bool) -> _Head:
        values = HeaderExtensions(
            mid=self._identity.mid,
            abs_capture_time=self._capture_time(frame) if first else None,
            dependency_descriptor=self._describe(
                frame, first=first, last=last, is_recovery=is_recovery
            ),
            ltr=_ltr_mark(frame, is_recovery=is_recovery) if first else None,
            ltr_ack=self.ltr_ack if first else None,
        )
        extensions = self._extensions.pack(values)
        return _Head(extensions, self.size_bytes(0, extensions))

    def _capture_time(self, frame: EncodedFrame) -> AbsCaptureTime:
        return AbsCaptureTime(ntp_timestamp=ntp_from_us(frame.capture_us + self._wall_offset_us))

    def _describe(
        self, frame: EncodedFrame, *, first: bool, last: bool, is_recovery: bool
    ) -> bytes | None:
        if frame.codec is not Codec.AV1 or DEPENDENCY_DESCRIPTOR not in self._extensions:
            return None
        before_id = frame.dependencies[0] if is_recovery else self._last_base_id
        chain_fdiff = 0 if frame.key else frame.frame_id - before_id
        return self._descriptors.write(
            frame_number=frame.frame_id & _ID_MASK,
            first=first,
            last=last,
            key=frame.key,
            temporal_id=frame.temporal_id,
            fdiffs=tuple(frame.frame_id - d for d in frame.dependencies),
            chain_fdiff=chain_fdiff if chain_fdiff <= MAX_CHAIN_FDIFF else 0,
            attach_structure=frame.key and first,
        )


def _ltr_mark(frame: EncodedFrame, *, is_recovery: bool) -> LtrMark | None:
    """What an AV1 frame is to long-term references; a key frame is one too."""
    is_ltr = frame.ltr_slot is not None
    if frame.codec is not Codec.AV1 or not (is_ltr or is_recovery):
        return None
    return LtrMark(is_ltr=is_ltr, is_recovery=is_recovery, frame_id=frame.frame_id & _ID_MASK)
