"""The sending side of a video stream, sans-I/O: pictures and feedback in, encode jobs and packets out.

Nothing here reads a clock, sleeps or opens a socket; every call carries now_us. After each call the driver drains
poll_encode(), poll_packets(), poll_rtcp() and poll_timeout().
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..codecs.errors import LocalError
from ..codecs.types import Codec, Content, EncodedFrame, Picture
from ..ratecontrol.messages import DropReason
from .encode_loop import Skipped
from .encoder_session import EncodeJob
from .key_answers import KeyAnswers
from .messages import NegotiatedCodec
from .outgoing_stream import OutgoingStream, StreamIdentity
from .quality_limitation import QualityLimitationReason
from .rate_adaptation import RateAdaptation
from .resilience.nack import DEFAULT_RTT_US
from .resilience.retransmission_budget import RetransmissionBudget
from .rtp.extensions import ExtensionMap
from .rtp.packet import RtpPacket
from .rtp.rtcp import (
    Bye,
    FullIntraRequest,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReceiverReport,
    RtcpMessage,
    SenderReport,
    serialize_rtcp,
)
from .send_path import SendPath
from .sender_reports import SenderReports
from .stats import OutboundCounters

# ours: the periodic higher-quality frame, a second apart as the design's budget assumes.
LTR_INTERVAL_US = 1_000_000
# ours: a REMB or an estimate below this starves the call rather than steering it.
MIN_TARGET_BPS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderSettings:
    """What signalling agreed on and the application set. codecs[0] is where the stream begins."""

    identity: StreamIdentity
    cname: str
    codecs: tuple[NegotiatedCodec, ...]
    extensions: ExtensionMap
    target_bps: int
    preset: str = "default"
    content: Content = Content.CAMERA

    def __post_init__(self) -> None:
        if not self.codecs:
            raise LocalError("at least one codec is needed")
        if self.target_bps < MIN_TARGET_BPS:
            raise LocalError(f"target_bps {self.target_bps} is below {MIN_TARGET_BPS}")


class SenderCore:
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
        self.counters = OutboundCounters(targetBitrate=settings.target_bps)
        self.path = path or SendPath(estimator=None, wall_offset_us=wall_offset_us)
        self._adaptation = RateAdaptation(
            codecs=settings.codecs, counters=self.counters, now_us=now_us
        )
        self._stream = OutgoingStream(
            identity=settings.identity,
            codecs=settings.codecs,
            extensions=settings.extensions,
            wall_offset_us=wall_offset_us,
            counters=self.counters,
        )
        self._reports = SenderReports(
            ssrc=settings.identity.ssrc,
            cname=settings.cname,
            rng=rng,
            now_us=now_us,
            wall_offset_us=wall_offset_us,
        )
        self._max_bps = settings.target_bps
        self._remb_bps: int | None = None
        self._pending: Picture | None = None
        self._encoding: EncodeJob | None = None
        self._held_until_us: int | None = None
        self._next_frame_id = 0
        self._keys = KeyAnswers()
        self._last_ltr_us: int | None = None
        self._budget = RetransmissionBudget()
        self._told_bps: int | None = None
        self._tell_demand(now_us)

    @property
    def target_bps(self) -> int:
        """The rate that the encoder is asked to hold."""
        share_bps = self.path.share_bps(self.settings.identity.ssrc)
        demand_bps = self._demand_bps
        return demand_bps if share_bps is None else max(min(demand_bps, share_bps), MIN_TARGET_BPS)

    @property
    def codec(self) -> NegotiatedCodec:
        """What the next picture is encoded with."""
        return self._adaptation.codec

    @property
    def rtt_us(self) -> int | None:
        """Smoothed round-trip time by RTCP, None before the first report."""
        return self._reports.rtt_us

    def set_target(self, target_bps: int) -> None:
        """Set the application's rate; the path, or a receiver's REMB, may hold it lower."""
        if target_bps < MIN_TARGET_BPS:
            raise LocalError(f"target_bps {target_bps} is below {MIN_TARGET_BPS}")
        self._max_bps = target_bps
        self.counters.targetBitrate = self.target_bps

    def set_codec(self, codec: Codec | None) -> None:
        """Go on with this negotiated codec, whatever the rate; None leaves it to the rate again.

        The next picture is a key frame if the codec changes.
        """
        self._adaptation.set_codec(codec)

    def request_key(self) -> None:
        """Make the next picture a key frame."""
        self._keys.wanted = True

    def quality_limitation_durations_us(self, *, now_us: int) -> dict[QualityLimitationReason, int]:
        """W3C's qualityLimitationDurations, in us, up to now."""
        return self._adaptation.limitation.durations_us(now_us=now_us)

    def handle_picture(self, picture: Picture) -> DropReason | None:
        """Take a captured picture; one that still waits for the encoder is dropped for it.

        Tells why the picture itself is not taken: a low rate leaves out some. None when it is.
        """
        if not self._adaptation.takes(
            picture,
            target_bps=self.target_bps,
            max_bps=self._max_bps,
            at_once=self._keys.wanted or self._stream.needs_key,
        ):
            return DropReason.FRAME_RATE
        # One that waits for the pacer says nothing of the encoder.
        is_waiting = self._pending is not None
        self._adaptation.taken(
            is_busy=is_waiting and self._encoding is not None, now_us=picture.capture_us
        )
        self.counters.framesDropped += is_waiting
        self._pending = picture
        return None

    def poll_encode(self, *, now_us: int) -> EncodeJob | None:
        """A job for the worker; None when there is no picture or the encoder is busy, or the pacer full.

        The job's result comes back through handle_encoded().
        """
        self._tell_demand(now_us)
        if self._pending is None or self._encoding is not None:
            return None
        self._held_until_us = self.path.opens_us(now_us=now_us)
        if self._held_until_us is not None:
            return None
        picture, self._pending = self._pending, None
        self.counters.targetBitrate = self.target_bps
        self._adaptation.choose_codec(
            picture, target_bps=self.counters.targetBitrate, now_us=now_us
        )
        due = self._last_ltr_us is None or now_us - self._last_ltr_us >= LTR_INTERVAL_US
        key = self._keys.wanted or self._stream.needs_key
        self._encoding = EncodeJob(
            picture=picture,
            codec=self.codec.codec,
            frame_id=self._next_frame_id,
            key=key,
            ltr=due and not key,
            target_bps=self.counters.targetBitrate,
            preset=self.settings.preset,
            content=self.settings.content,
            now_us=now_us,
            every=self._adaptation.every,
            codec_reason=self._adaptation.codec_reason,
        )
        return self._encoding

    def handle_encoded(self, result: EncodedFrame | Skipped | None, *, now_us: int) -> None:
        """Take the result of the job given last; None when the encoder failed on it."""
        job, self._encoding = self._encoding, None
        if job is None:
            return
        if not isinstance(result, EncodedFrame):
            self.counters.count_skipped(result)
            return
        self._next_frame_id += 1
        if result.key:
            self._keys.sent(now_us=now_us)
        if result.key or job.ltr:
            self._last_ltr_us = now_us
        self.counters.count_encoded(result)
        self._adaptation.coded(result, picture=job.picture)
        codec = next(c for c in self.settings.codecs if c.codec is result.codec)
        self.path.enqueue(self._stream.packets(result, codec=codec, now_us=now_us), now_us=now_us)

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """Take one RTCP message that concerns the stream; others are ignored."""
        ssrc = self.settings.identity.ssrc
        if isinstance(message, SenderReport | ReceiverReport):
            for report in message.reports:
                if report.ssrc == ssrc:
                    rtt_us = self._reports.handle(report, counters=self.counters, now_us=now_us)
                    if rtt_us is not None:
                        self.path.handle_rtt(rtt_us, now_us=now_us)
        elif isinstance(message, Nack) and message.media_ssrc == ssrc:
            self._handle_nack(message, now_us=now_us)
        elif isinstance(message, PictureLossIndication) and message.media_ssrc == ssrc:
            self.counters.pliCount += 1
            self._keys.asked(rtt_us=self.rtt_us, now_us=now_us)
        elif isinstance(message, FullIntraRequest):
            self.counters.firCount += self._keys.fir(
                message, ssrc=ssrc, rtt_us=self.rtt_us, now_us=now_us
            )
        elif isinstance(message, ReceiverEstimatedMaximumBitrate) and ssrc in message.ssrcs:
            self._remb_bps = message.bitrate_bps
            self._tell_demand(now_us)
            self.counters.targetBitrate = self.target_bps

    def poll_packets(self, *, now_us: int) -> list[RtpPacket]:
        """The packets that leave the path now, those of other streams that share it among them."""
        return self.path.poll_packets(now_us=now_us)

    def poll_rtcp(self, *, now_us: int) -> list[bytes]:
        """RTCP packets that are due: a sender report once media was sent."""
        timestamp = self._stream.timestamp(now_us)
        return self._reports.poll(rtp_timestamp=timestamp, counters=self.counters, now_us=now_us)

    def poll_timeout(self) -> int:
        """When something is due if nothing else happens."""
        due_us = self._reports.next_us
        for time_us in (self.path.poll_timeout(), self._held_until_us):
            due_us = due_us if time_us is None else min(due_us, time_us)
        return due_us

    def bye(self) -> bytes:
        """End the stream: what waits of it is forgotten; the RTCP packet that says so."""
        self.path.remove_stream(self.settings.identity.ssrc)
        return serialize_rtcp([Bye(ssrcs=(self.settings.identity.ssrc,))])

    def _handle_nack(self, message: Nack, *, now_us: int) -> None:
        self.counters.nackCount += 1
        allowed_bytes = self._budget.available_bytes(target_bps=self.target_bps, now_us=now_us)
        packets = self._stream.retransmissions(
            message.lost,
            budget_bytes=min(allowed_bytes, self.path.repair_bytes(now_us=now_us)),
            limit_bytes=self.path.bound_bytes,
            now_us=now_us,
            rtt_us=self.rtt_us if self.rtt_us is not None else DEFAULT_RTT_US,
        )
        if packets is None:
            # More than the path carries within the bound: a new beginning is there sooner.
            self._keys.asked(rtt_us=self.rtt_us, now_us=now_us)
            return
        self._budget.spend(sum(packet.size_bytes for packet in packets))
        self.path.enqueue(packets, now_us=now_us)

    @property
    def _demand_bps(self) -> int:
        """What the application and the receiver allow."""
        limit_bps = self._max_bps if self._remb_bps is None else min(self._max_bps, self._remb_bps)
        return max(limit_bps, MIN_TARGET_BPS)

    def _tell_demand(self, now_us: int) -> None:
        if self._told_bps != self._demand_bps:
            self._told_bps = self._demand_bps
            self.path.set_demand(self.settings.identity.ssrc, self._told_bps, now_us=now_us)
