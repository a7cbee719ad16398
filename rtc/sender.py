"""The sending side of a video stream, sans-I/O: pictures and feedback in, encode jobs and packets out.

Nothing here reads a clock, sleeps or opens a socket; every call carries now_us. After each call the driver drains
poll_encode(), poll_packets(), poll_rtcp() and poll_timeout().
"""

from __future__ import annotations

import random

from ..codecs.types import EncodedFrame, Picture
from ..ratecontrol.messages import DropReason
from .adaptation.stream_adaptation import StreamAdaptation
from .encode_loop import Skipped
from .encoder_session import EncodeJob
from .flights import PacketFate
from .loss_recovery import LossRecovery
from .outgoing_stream import OutgoingStream, StreamSettings
from .repair_answers import RepairAnswers
from .resilience.decisions import Decision
from .resilience.fec_protection import FecProtection
from .resilience.policy import PicturePlan
from .rtp.extensions import DEPENDENCY_DESCRIPTOR, LTR
from .rtp.packet import RtpPacket
from .rtp.rtcp import ReceiverEstimatedMaximumBitrate, RtcpMessage
from .rtp.rtcp_decode_report import DecodeReportMessage
from .send_path import SendPath
from .sender_controls import SenderControls
from .sender_reports import SenderReports
from .sender_settings import SenderSettings
from .stats import OutboundCounters
from .stream_rate import MIN_TARGET_BPS, StreamRate

__all__ = ["MIN_TARGET_BPS", "SenderCore", "SenderSettings"]


class SenderCore(SenderControls):
    """Takes the newest picture when the encoder is free, and answers what the receiver asks for."""

    def __init__(
        self,
        *,
        settings: SenderSettings,
        rng: random.Random,
        now_us: int,
        wall_offset_us: int,
        path: SendPath | None = None,
    ) -> None:
        """wall_offset_us is the wall clock (since 1900, as NTP counts) less the now_us clock.

        path is what the stream shares with others of its transport; whoever owns it hands it transport
        feedback, which a core takes no notice of. Without one the stream has its own, which only paces.
        """
        self.settings = settings
        self.counters = OutboundCounters()
        self.path = path or SendPath(estimator=None, wall_offset_us=wall_offset_us)
        self._begin_adaptation(now_us)
        self._begin_stream(wall_offset_us)
        self._rate = StreamRate(
            ssrc=settings.identity.ssrc,
            max_bps=settings.target_bps,
            path=self.path,
            fec=self._stream.fec,
            now_us=now_us,
        )
        self._reports = SenderReports(
            ssrc=settings.identity.ssrc,
            cname=settings.cname,
            rng=rng,
            now_us=now_us,
            wall_offset_us=wall_offset_us,
        )
        self._pending: Picture | None = None
        self._encoding: tuple[EncodeJob, PicturePlan] | None = None
        self._held_until_us: int | None = None
        self._next_frame_id = 0

    @property
    def rtt_us(self) -> int | None:
        """Smoothed round-trip time by RTCP, None before the first report."""
        return self._reports.rtt_us

    def set_ltr_ack(self, frame_id: int) -> None:
        """Tell the peer, with each frame, the newest long-term reference of its media that was decoded.

        frame_id is ReceiverCore's: 16 bits.
        """
        self._stream.packetizer.ltr_ack = frame_id

    def request_key(self) -> None:
        """Make the next picture a key frame."""
        self._recovery.request_key()

    def handle_picture(self, picture: Picture) -> DropReason | None:
        """Take a captured picture; one that still waits for the encoder is dropped for it.

        Tells why the picture itself is not taken: a low rate leaves out some. None when it is.
        """
        at_once = self._recovery.keys.wanted or self._stream.is_broken
        if not self._adaptation.takes(picture, at_once=at_once):
            return DropReason.FRAME_RATE
        # One that waits for the pacer says nothing of the encoder.
        is_waiting = self._pending is not None
        self._adaptation.taken(
            is_busy=is_waiting and self._encoding is not None, now_us=picture.capture_us
        )
        self.counters.framesDropped += is_waiting
        self._pending = picture
        return None

    def handle_ltr_acks(self, frame_ids: list[int]) -> None:
        """Take what the peer's media acknowledges of ours: ReceiverCore.take_peer_acks()."""
        self._recovery.handle_acknowledgements(frame_ids)

    def poll_encode(self, *, now_us: int) -> EncodeJob | None:
        """A job for the worker; None when there is no picture or the encoder is busy, or the pacer full.

        The job's result comes back through handle_encoded().
        """
        self._rate.tell(now_us)
        if self._pending is None or self._encoding is not None:
            return None
        self._held_until_us = self.path.opens_us(now_us=now_us)
        if self._held_until_us is not None:
            return None
        picture, self._pending = self._pending, None
        self._adaptation.decide(
            picture,
            target_bps=self.target_bps,
            max_bps=self._rate.max_bps,
            layers=1 + self._recovery.policy.has_layers,
            now_us=now_us,
        )
        plan = self._recovery.plan(
            codec=self.codec.codec,
            is_broken=self._stream.is_broken,
            rtt_us=self.rtt_us,
            now_us=now_us,
        )
        job = self._job(picture, plan, now_us=now_us)
        self._encoding = job, plan
        return job

    def handle_encoded(self, result: EncodedFrame | Skipped | None, *, now_us: int) -> None:
        """Take the result of the job given last; None when the encoder failed on it."""
        encoding, self._encoding = self._encoding, None
        if encoding is None:
            return
        job, plan = encoding
        if not isinstance(result, EncodedFrame):
            self.counters.count_skipped(result)
            self._adaptation.control.skipped(0 if result is None else result.encode_us)
            return
        self._next_frame_id += 1
        self.counters.count_encoded(result)
        is_anchor = result.key or (job.ltr and job.finer)
        self._adaptation.coded(
            result,
            picture=job.picture,
            took_us=now_us - job.now_us,
            is_anchor=is_anchor,
            now_us=now_us,
        )
        codec = next(c for c in self.settings.codecs if c.codec is result.codec)
        is_recovery = plan.from_ltr and not result.key
        packets = self._stream.packets(result, codec=codec, is_recovery=is_recovery, now_us=now_us)
        self.counters.count_marks(result, is_recovery=is_recovery)
        self._recovery.coded(result, plan, packets=len(packets), now_us=now_us)
        self.path.enqueue(packets, now_us=now_us)

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """Take one RTCP message that concerns the stream; others are ignored."""
        for report in self._reports.about_stream(message):
            rtt_us = self._reports.handle(report, counters=self.counters, now_us=now_us)
            self._recovery.handle_loss_report(report.fraction_lost, now_us=now_us)
            if rtt_us is not None:
                self.path.handle_rtt(rtt_us, now_us=now_us)
        if isinstance(message, ReceiverEstimatedMaximumBitrate):
            if self.settings.identity.ssrc in message.ssrcs:
                self._rate.set_remb(message.bitrate_bps, now_us=now_us)
        elif isinstance(message, DecodeReportMessage):
            if self.settings.identity.ssrc == message.media_ssrc:
                self.handle_decode_report(message.report, now_us=now_us)
        else:
            self._answers.handle(
                message,
                codec=self.codec.codec,
                target_bps=self.target_bps,
                rtt_us=self.rtt_us,
                now_us=now_us,
            )

    def poll_packets(self, *, now_us: int) -> list[RtpPacket]:
        """The packets that leave the path now, those of other streams that share it among them."""
        self._answers.poll(target_bps=self.target_bps, rtt_us=self.rtt_us, now_us=now_us)
        return self.path.poll_packets(now_us=now_us)

    def poll_rtcp(self, *, now_us: int) -> list[bytes]:
        """RTCP packets that are due: a sender report once media was sent."""
        timestamp = self._stream.packetizer.timestamp(now_us)
        return self._reports.poll(rtp_timestamp=timestamp, counters=self.counters, now_us=now_us)

    def poll_timeout(self) -> int:
        """When something is due if nothing else happens."""
        due_us = self._reports.next_us
        for time_us in (
            self.path.poll_timeout(),
            self._held_until_us,
            self._answers.poll_timeout(),
        ):
            due_us = due_us if time_us is None else min(due_us, time_us)
        return due_us

    def poll_decisions(self) -> list[Decision]:
        """What was decided against loss since the last call, and why."""
        return self._recovery.poll_decisions()

    def bye(self) -> bytes:
        """End the stream: what waits of it is forgotten; the RTCP packet that says so."""
        self.path.remove_stream(self.settings.identity.ssrc)
        return self._reports.bye()

    def _begin_adaptation(self, now_us: int) -> None:
        settings = self.settings
        self._adaptation = StreamAdaptation(
            codecs=settings.codecs,
            preset=settings.preset,
            content=settings.content,
            settings=settings.adaptation,
            counters=self.counters,
            now_us=now_us,
        )

    def _begin_stream(self, wall_offset_us: int) -> None:
        settings = self.settings
        protection = FecProtection(stamp_ids=settings.extensions.stamp_ids)
        self._stream = OutgoingStream(
            settings=StreamSettings(
                identity=settings.identity,
                codecs=settings.codecs,
                extensions=settings.extensions,
                flexfec=settings.flexfec,
                red=settings.red,
            ),
            wall_offset_us=wall_offset_us,
            counters=self.counters,
            protection=protection,
            tell=self._take_fates,
        )
        self._recovery = LossRecovery(
            settings=settings.resilience,
            protection=protection,
            has_descriptor=DEPENDENCY_DESCRIPTOR in settings.extensions,
            has_marks=LTR in settings.extensions,
            can_fec=self._stream.fec.is_possible,
            recovered=self._stream.recovered,
        )
        self._answers = RepairAnswers(
            stream=self._stream, path=self.path, recovery=self._recovery, counters=self.counters
        )

    def _take_fates(self, fates: list[PacketFate], now_us: int) -> None:
        rtt_us = self.rtt_us
        self._answers.handle_fates(
            fates, codec=self.codec.codec, target_bps=self.target_bps, rtt_us=rtt_us, now_us=now_us
        )

    def _job(self, picture: Picture, plan: PicturePlan, *, now_us: int) -> EncodeJob:
        operation = self._adaptation.operation
        return EncodeJob(
            picture=picture,
            codec=operation.codec,
            frame_id=self._next_frame_id,
            key=plan.key,
            ltr=plan.ltr,
            finer=plan.finer,
            temporal_id=plan.temporal_id,
            from_ltr=plan.from_ltr,
            acknowledged=self._recovery.ltrs.take_acknowledged(),
            target_bps=self.target_bps,
            preset=operation.preset,
            content=self.settings.content,
            now_us=now_us,
            every=operation.every,
            scale=operation.scale,
            size=self._adaptation.size(picture),
            reason=self._adaptation.reason,
        )
