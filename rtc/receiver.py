"""The receiving side of a video stream, sans-I/O: packets and reports in, decodable frames and feedback out.

Nothing here reads a clock, sleeps or opens a socket; every call carries now_us. After each call the driver drains
poll_decode(), poll_rtcp() and poll_timeout().
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..codecs.errors import RemoteError
from ..codecs.types import Picture
from .messages import VIDEO_CLOCK_HZ, DecodedFrame, NegotiatedCodec, ReceivedFrame
from .packet_reader import PacketReader, Padding
from .playout.dependencies import DecodeOrder
from .playout.freezes import FreezeDetector
from .playout.packet_buffer import MediaPacket, PacketBuffer
from .playout.undescribed import UndescribedFrames
from .receive_path import ReceivePath
from .receiver_feedback import ReceiverFeedback
from .rtp.dependency_descriptor import MissingStructure
from .rtp.extensions import ExtensionMap, HeaderExtensions, us_from_ntp
from .rtp.packet import RtpPacket, parse_rtp
from .rtp.rtcp import RtcpMessage, SenderReport, serialize_rtcp
from .stats import InboundCounters


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverSettings:
    """What signalling agreed on. ssrc is the one our own RTCP is sent from.

    remote_ssrc may be None: then the first media packet tells. Retransmissions are told by their
    payload type, whatever their SSRC.
    """

    ssrc: int
    codecs: tuple[NegotiatedCodec, ...]
    extensions: ExtensionMap
    remote_ssrc: int | None = None


class ReceiverCore:
    """Reorders, assembles and releases frames in decodable order; asks for what is missing."""

    _is_abandoned: bool
    _undescribed: UndescribedFrames

    def __init__(
        self,
        *,
        settings: ReceiverSettings,
        rng: random.Random,
        now_us: int,
        path: ReceivePath | None = None,
    ) -> None:
        """path is shared by a transport's streams that agreed on transport-wide feedback."""
        self.settings = settings
        self.counters = InboundCounters()
        self.freezes = FreezeDetector()
        self._path = path
        self.codec = settings.codecs[0]
        """The codec that came last."""
        self._feedback = ReceiverFeedback(
            ssrc=settings.ssrc, counters=self.counters, rng=rng, now_us=now_us
        )
        self._sender_report: SenderReport | None = None
        self._decoding: ReceivedFrame | None = None
        self._is_told = settings.remote_ssrc is not None
        self._begin(settings.remote_ssrc)

    @property
    def remote_ssrc(self) -> int | None:
        """The media source, once it is known."""
        return self._remote_ssrc

    def set_rtt(self, rtt_us: int) -> None:
        """Tell the path's round-trip time, which a receiver alone cannot measure."""
        self._feedback.rtt_us = rtt_us

    def set_source(self, ssrc: int) -> None:
        """Follow signalling to a source; what another one sent so far is forgotten."""
        self._is_told = True
        if ssrc != self._remote_ssrc:
            self._begin(ssrc)

    def handle_rtp(self, data: bytes, *, now_us: int) -> RtpPacket | None:
        """Take one RTP packet, and give it back parsed; what cannot be read is counted and dropped."""
        try:
            packet = parse_rtp(data)
            self.counters.headerBytesReceived += len(data) - len(packet.payload)
            values = self.settings.extensions.unpack(packet)
            self._tell_path(packet, values, size_bytes=len(data), now_us=now_us)
            self._take(packet, values, now_us=now_us)
        except RemoteError:
            self.counters.malformedRtp += 1
            return None
        return packet

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """Take one RTCP message that concerns the source."""
        if isinstance(message, SenderReport) and message.ssrc == self._remote_ssrc:
            self._sender_report = message
            self._feedback.handle_sender_report(message, now_us=now_us)

    def poll_decode(self) -> ReceivedFrame | None:
        """The next frame for the decoder; None while one is there already.

        The frame's result comes back through handle_decoded().
        """
        if self._decoding is not None:
            return None
        frame = self._order.next_frame(self._buffer.previous_of)
        if frame is None:
            return None
        self.counters.framesDropped += self._order.taken(frame)
        self._buffer.discard_through(frame.last_sequence)
        self._nacks.discard_through(frame.last_sequence)
        self._key_requests.progressed(key=frame.key)
        self._decoding = frame
        return frame

    def handle_decoded(
        self, picture: Picture | None, *, failed: bool, decode_us: int, now_us: int
    ) -> DecodedFrame | None:
        """Take the decoder's answer to the frame it was given last.

        picture is None when the frame shows none or failed; the result describes its picture.
        """
        frame, self._decoding = self._decoding, None
        if frame is None or self._is_abandoned:
            self._is_abandoned = False
            return None
        self.counters.totalDecodeTimeUs += decode_us
        if failed:
            self.counters.undecodableFrames += 1
            self._order.failed()
            self._key_requests.require()
            return None
        self._order.decoded(frame)
        self._note_waiting(now_us)
        if picture is None:
            return None
        self.counters.framesDecoded += 1
        self.counters.keyFramesDecoded += frame.key
        self.counters.frameWidth, self.counters.frameHeight = picture.width, picture.height
        return DecodedFrame(
            frame_id=frame.frame_id,
            codec=frame.codec,
            key=frame.key,
            width=picture.width,
            height=picture.height,
            decode_us=decode_us,
            capture_wall_us=frame.capture_wall_us,
            decoded_us=now_us,
        )

    def handle_shown(self, *, now_us: int, skipped: int = 0) -> None:
        """Note that a picture is shown, and how many decoded ones before it were not."""
        counters = self.counters
        self.freezes.shown(now_us)
        counters.framesDropped += skipped
        counters.totalInterFrameDelayUs = self.freezes.shown_us
        counters.freezeCount = self.freezes.count
        counters.totalFreezesDurationUs = self.freezes.total_us

    def poll_rtcp(self, *, now_us: int) -> list[bytes]:
        """RTCP packets that are due, those of the path included."""
        messages = self._feedback.poll(now_us=now_us)
        datagrams = [serialize_rtcp(messages)] if messages else []
        if self._path is not None:
            for data in datagrams:
                self._path.handle_rtcp_sent(len(data), now_us=now_us)
            datagrams += self._path.poll_rtcp(now_us=now_us)
        return datagrams

    def poll_timeout(self) -> int | None:
        """When something is due if nothing arrives; None before the first packet."""
        feedback_us = self._feedback.poll_timeout()
        path_us = None if self._path is None else self._path.poll_timeout()
        return min((t for t in (feedback_us, path_us) if t is not None), default=None)

    def capture_wall_us(self, rtp_timestamp: int) -> int | None:
        """The sender's wall clock at an unwrapped RTP timestamp, by its last report."""
        report = self._sender_report
        if report is None:
            return None
        behind = ((rtp_timestamp - report.rtp_timestamp + 0x80000000) & 0xFFFFFFFF) - 0x80000000
        return us_from_ntp(report.ntp_timestamp) + behind * 1_000_000 // VIDEO_CLOCK_HZ

    def _begin(self, ssrc: int | None) -> None:
        """Start on a source; a new SSRC shares nothing with the one before."""
        self._remote_ssrc = ssrc
        self._feedback.begin()
        self._reader = PacketReader(codecs=self.settings.codecs)
        self._buffer = PacketBuffer()
        self._order = DecodeOrder()
        self._nacks = self._feedback.nacks
        self._key_requests = self._feedback.key_requests
        # The decoder's answer to a frame of another source is awaited, and ignored.
        self._is_abandoned = self._decoding is not None
        self._undescribed = UndescribedFrames()

    def _tell_path(
        self, packet: RtpPacket, values: HeaderExtensions, *, size_bytes: int, now_us: int
    ) -> None:
        if self._path is not None and values.transport_sequence_number is not None:
            self._path.handle_packet(
                values.transport_sequence_number,
                size_bytes=size_bytes,
                arrival_us=now_us,
                ssrc=packet.ssrc,
                abs_send_time=values.abs_send_time,
            )

    def _take(self, packet: RtpPacket, values: HeaderExtensions, *, now_us: int) -> None:
        retransmission = self._reader.is_retransmission(packet)
        if retransmission and self._remote_ssrc is not None:
            original = self._reader.original(packet, ssrc=self._remote_ssrc)
            if original is None:
                return
            packet = original
        if not self._reader.is_media(packet) or not self._accept_source(packet.ssrc):
            self.counters.packetsDiscarded += 1
            return
        media = self._reader.read(packet, values=values, recovered=retransmission, now_us=now_us)
        self._count_packet(packet, retransmission=retransmission)
        if not retransmission:
            self._feedback.measure(packet, sequence=media.sequence, now_us=now_us)
        self._nacks.received(media.sequence, now_us=now_us)
        self._insert(media)
        self._note_waiting(now_us)

    def _accept_source(self, ssrc: int) -> bool:
        if self._remote_ssrc is None or (not self._is_told and ssrc != self._remote_ssrc):
            self._begin(ssrc)
        return ssrc == self._remote_ssrc

    def _count_packet(self, packet: RtpPacket, *, retransmission: bool) -> None:
        self.counters.packetsReceived += 1
        self.counters.retransmittedPacketsReceived += retransmission
        self.counters.bytesReceived += len(packet.payload)

    def _insert(self, media: MediaPacket | Padding) -> None:
        if isinstance(media, Padding):
            packets = self._buffer.insert_padding(media.sequence)
        else:
            self.counters.packetsDuplicated += self._buffer.has(media.sequence)
            packets = self._buffer.insert(media)
        while packets is not None:
            self._assemble(packets)
            packets = self._buffer.next_frame(packets[-1].sequence)

    def _assemble(self, packets: list[MediaPacket]) -> None:
        try:
            frame = self._reader.assemble(packets)
        except MissingStructure:
            # The structure may still come with a retransmission of the key frame's first packet.
            self._undescribed.add(packets)
            self._key_requests.blocked(now_us=packets[-1].arrival_us)
            return
        except RemoteError:
            self.counters.malformedRtp += 1
            self._key_requests.require()
            return
        self.codec = self._reader.codec(packets[0])
        self.counters.framesReceived += 1
        self.counters.totalAssemblyTimeUs += frame.complete_us - frame.first_us
        if not self._order.insert(frame):
            self.counters.framesDropped += 1
        if self._order.overflowing:
            self.counters.framesDropped += self._order.clear_waiting()
            self._key_requests.require()
        if frame.key:
            for later in self._undescribed.take_all():
                self._assemble(later)

    def _note_waiting(self, now_us: int) -> None:
        """Tell the key-frame requests whether the decoder waits for something that is missing."""
        if self._decoding is not None or self._order.next_frame(self._buffer.previous_of):
            return
        if len(self._order) or len(self._buffer) or self._nacks.missing:
            self._key_requests.blocked(now_us=now_us)
