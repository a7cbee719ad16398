"""The receiving side of a video stream, sans-I/O: packets and reports in, decodable frames and feedback out.

Nothing here reads a clock, sleeps or opens a socket; every call carries now_us. After each call the driver drains
poll_decode(), poll_rtcp() and poll_timeout().
"""

from __future__ import annotations

import random
from dataclasses import replace

from ..codecs.errors import RemoteError
from ..codecs.types import Picture
from .decoding import Decoding
from .incoming_media import IncomingMedia
from .messages import (
    VIDEO_CLOCK_HZ,
    DecodedFrame,
    FlexfecStream,
    NegotiatedCodec,
    ReceivedFrame,
)
from .playout.freezes import FreezeDetector
from .receive_path import ReceivePath
from .receiver_feedback import ReceiverFeedback
from .receiver_settings import ReceiverSettings
from .rtp.extensions import HeaderExtensions, us_from_ntp
from .rtp.packet import RtpPacket, parse_rtp
from .rtp.rtcp import DecodeReportMessage, RtcpMessage, SenderReport, serialize_rtcp
from .stats import InboundCounters

__all__ = ["ReceiverCore", "ReceiverSettings"]


class ReceiverCore:
    """Reorders, assembles and releases frames in decodable order; asks for what is missing."""

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
        self._feedback = ReceiverFeedback(
            ssrc=settings.ssrc,
            codecs=settings.codecs,
            resilience=settings.resilience,
            counters=self.counters,
            rng=rng,
            now_us=now_us,
        )
        self._decoding = Decoding(counters=self.counters, feedback=self._feedback)
        self._sender_report: SenderReport | None = None
        self._is_told = settings.remote_ssrc is not None
        self._begin(settings.remote_ssrc)

    @property
    def remote_ssrc(self) -> int | None:
        """The media source, once it is known."""
        return self._remote_ssrc

    @property
    def codec(self) -> NegotiatedCodec:
        """The codec that came last."""
        return self._incoming.codec

    @property
    def ltr_ack(self) -> int | None:
        """The long-term reference to acknowledge on our own media (16 bits); None when there is none."""
        return self._feedback.ltr.newest

    def handle_ltr_ack_sent(self, frame_id: int, *, now_us: int) -> None:
        """Note that own media left with an acknowledgement: while it does, RTCP need not carry it."""
        self._feedback.ltr.carried(frame_id, now_us=now_us, rtt_us=self._feedback.rtt_us)

    def take_peer_acks(self) -> list[int]:
        """What the peer acknowledged on its media since the last call: 16-bit frame ids, oldest first."""
        return self._incoming.peer_acks.take()

    def set_rtt(self, rtt_us: int) -> None:
        """Tell the path's round-trip time, which a receiver alone cannot measure."""
        self._feedback.rtt_us = rtt_us

    def set_source(self, ssrc: int, *, flexfec: FlexfecStream | None = None) -> None:
        """Follow signalling to a source and its FEC; what another one sent so far is forgotten."""
        self._is_told = True
        if ssrc != self._remote_ssrc:
            self.settings = replace(self.settings, flexfec=flexfec)
            self._begin(ssrc)

    def handle_rtp(self, data: bytes, *, now_us: int) -> RtpPacket | None:
        """Take one RTP packet, and give it back parsed; what cannot be read is counted and dropped."""
        try:
            packet = parse_rtp(data)
            self.counters.headerBytesReceived += len(data) - len(packet.payload)
            values = self.settings.extensions.unpack(packet)
            self._tell_path(packet, values, size_bytes=len(data), now_us=now_us)
            self._take(packet, values, data=data, now_us=now_us)
        except RemoteError:
            self.counters.malformedRtp += 1
            return None
        return packet

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """Take one RTCP message that concerns the source."""
        if isinstance(message, SenderReport) and message.ssrc == self._remote_ssrc:
            self._sender_report = message
            self._feedback.handle_sender_report(message, now_us=now_us)

    def poll_decode(self, *, now_us: int) -> ReceivedFrame | None:
        """The next frame for the decoder; None while one is there already.

        The frame's result comes back through handle_decoded().
        """
        return self._decoding.next_frame(now_us=now_us)

    def handle_decoded(
        self, picture: Picture | None, *, failed: bool, decode_us: int, now_us: int
    ) -> DecodedFrame | None:
        """Take the decoder's answer to the frame it was given last.

        picture is None when the frame shows none or failed; the result describes its picture.
        """
        frame = self._decoding.answered(picture, failed=failed, decode_us=decode_us, now_us=now_us)
        if frame is None:
            return None
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

    def poll_probe(self, *, now_us: int) -> ReceivedFrame | None:
        """An AV1 key frame to decode once, by a decoder and in a thread of its own, where the source left AV1.

        What it took comes back through handle_probed(), and the source is told.
        """
        return self._decoding.poll_probe(now_us=now_us) if self.settings.decode_reports else None

    def handle_probed(self, decode_us: int | None, *, now_us: int) -> None:
        """Take the time of the frame that poll_probe() gave; None where it could not be decoded."""
        self._decoding.probe.probed(decode_us, now_us=now_us)

    def poll_rtcp(self, *, now_us: int) -> list[bytes]:
        """RTCP packets that are due, those of the path included."""
        messages = self._feedback.poll(now_us=now_us) + self._decode_reports(now_us)
        datagrams = [serialize_rtcp(messages)] if messages else []
        if self._path is not None:
            for data in datagrams:
                self._path.handle_rtcp_sent(len(data), now_us=now_us)
            datagrams += self._path.poll_rtcp(now_us=now_us)
        return datagrams

    def poll_timeout(self) -> int | None:
        """When something is due if nothing arrives; None before the first packet."""
        times = (
            self._feedback.poll_timeout(),
            None if self._path is None else self._path.poll_timeout(),
            self._decoding.poll_timeout() if self.settings.decode_reports else None,
        )
        return min((t for t in times if t is not None), default=None)

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
        self._incoming = IncomingMedia(
            self.settings, counters=self.counters, feedback=self._feedback
        )
        self._decoding.begin(self._incoming.buffer)

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

    def _take(
        self, packet: RtpPacket, values: HeaderExtensions, *, data: bytes, now_us: int
    ) -> None:
        ssrc = self._remote_ssrc
        if self._incoming.is_flexfec(packet):
            frames = self._incoming.take_flexfec(packet, media_ssrc=ssrc, now_us=now_us)
        else:
            arrival = self._incoming.arrival(packet, values, data=data, media_ssrc=ssrc)
            if arrival is None:
                return
            if not self._accept_source(arrival.packet.ssrc):
                self.counters.packetsDiscarded += 1
                return
            frames = self._incoming.take(arrival, now_us=now_us)
        for frame in frames:
            self._decoding.keep(frame)
        self._note_waiting(now_us)

    def _accept_source(self, ssrc: int) -> bool:
        if self._remote_ssrc is None or (not self._is_told and ssrc != self._remote_ssrc):
            self._begin(ssrc)
        return ssrc == self._remote_ssrc

    def _note_waiting(self, now_us: int) -> None:
        """Tell the requests whether the decoder waits for something, and whether that is missing."""
        if not self._decoding.is_starved:
            return
        nacks = self._feedback.nacks
        missing = self._decoding.waiting > 0 or nacks.last_base is not None
        if missing or len(self._incoming.buffer) or nacks.missing:
            self._feedback.key_requests.blocked(
                now_us=now_us, missing=missing, wait_us=self._incoming.wait_us(now_us)
            )

    def _decode_reports(self, now_us: int) -> list[RtcpMessage]:
        ssrc = self._remote_ssrc
        if ssrc is None or not self.settings.decode_reports:
            return []
        report = self._decoding.poll_report(now_us=now_us)
        if report is None:
            return []
        return [DecodeReportMessage(ssrc=self.settings.ssrc, media_ssrc=ssrc, report=report)]
