"""Turns what a sender does into a log of decisions, each with its reason."""

from __future__ import annotations

from ...codecs.types import FULL_SIZE, Codec, EncodedFrame
from ..encode_loop import Skipped
from ..encoder_session import EncodeJob
from ..resilience.decisions import Action, Decision, Reason
from ..rtp.rtcp import (
    FullIntraRequest,
    LtrAcknowledgement,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReferencePictureSelection,
    RtcpMessage,
)
from .records import EventLog, FrameRecord


class SenderDecisions:
    """Follows one sending peer's jobs and the feedback that it acts on."""

    def __init__(self, *, peer: str, events: EventLog) -> None:
        self._peer = peer
        self._events = events
        self._codec: Codec | None = None
        self._size = (0, 0)
        self._coded_size = (0, 0)
        self._target_bps = 0
        self._preset = ""
        self._every = 1
        self._reason: str = Reason.START
        """Why the next key frame is made, if it is: what the sender says, or else what it was told."""
        self._restart: Reason | None = None
        """Why the frame that is coming goes on from a long-term reference, if it does."""
        self._expired = 0
        self._target_reason = "setting"
        self._scale = FULL_SIZE
        self.codec_switches = 0
        self.preset_switches = 0
        """Within a codec."""
        self.size_switches = 0
        """Of the size that is coded at most; what the rate makes of it frame by frame does not count."""

    def feedback(self, message: RtcpMessage) -> None:
        """Note what arrived: it is the reason of what follows."""
        if isinstance(message, PictureLossIndication):
            self._reason = Reason.PLI
        elif isinstance(message, FullIntraRequest):
            self._reason = Reason.FIR
        elif isinstance(message, ReceiverEstimatedMaximumBitrate):
            self._target_reason = "receiver's estimate"

    def decided(self, decisions: list[Decision], *, now_us: int) -> None:
        """Take what the sender says of itself; what concerns a frame comes before its result."""
        for decision in decisions:
            if decision.action is Action.KEY:
                # By itself the encoder begins anew for a codec or a size; job() knows which.
                if decision.reason is not Reason.CODEC:
                    self._reason = decision.reason
            elif decision.action is Action.LTRP:
                self._restart = decision.reason
            else:
                details = {"reason": decision.reason, "value": decision.value}
                self._add(now_us, decision.action, **details)

    def job(self, job: EncodeJob, *, index: int, expired: int, now_us: int) -> None:
        """Note what was decided before encoding; expired counts frames that were never sent."""
        if expired > self._expired:
            self._expired, self._reason = expired, Reason.EXPIRED
        if job.target_bps != self._target_bps:
            self._add(now_us, "target", reason=self._target_reason, bps=job.target_bps)
            self._target_bps = job.target_bps
            self._target_reason = "sender's estimate"
        size = (job.picture.width, job.picture.height)
        if self._codec is not None and job.codec is not self._codec:
            self.codec_switches += 1
            self._add(now_us, "codec", reason=job.reason, frame=index, codec=job.codec)
            self._reason = Reason.CODEC
        elif self._codec is not None and size != self._size:
            self._reason = "picture size"
        if job.every != self._every:
            self._add(
                now_us,
                "frame rate",
                reason=job.reason,
                frame=index,
                every=job.every,
            )
            self._every = job.every
        self._operation(job, index=index, now_us=now_us)
        self._codec, self._size, self._preset = job.codec, size, job.preset

    def result(
        self,
        job: EncodeJob,
        result: EncodedFrame | Skipped | None,
        *,
        record: FrameRecord,
        now_us: int,
    ) -> None:
        """Note what encoding came to; tells the record what its frame is to others."""
        index = record.index
        if not isinstance(result, EncodedFrame):
            reason = result.reason if result is not None else "encoder failed"
            self._add(now_us, "skip", reason=reason, frame=index)
            return
        if result.tries > 1:
            self._add(now_us, "retry", reason="over its cap", frame=index, tries=result.tries)
        if result.key:
            self._key(job, result, index=index, now_us=now_us)
        elif (result.width, result.height) != self._coded_size:
            size = f"{result.width}x{result.height}"
            self._add(now_us, "scale", reason="rate", frame=index, size=size)
        self._coded_size = (result.width, result.height)
        self._references(result, record=record, now_us=now_us)

    def freeze(self, direction: str, *, frozen_us: int, now_us: int) -> None:
        """Note that a freeze ended at the other side."""
        self._events.add(now_us, direction, "freeze", reason="no picture", duration_us=frozen_us)

    def _operation(self, job: EncodeJob, *, index: int, now_us: int) -> None:
        """Note another preset of the same codec, and another size."""
        if self._codec is job.codec and job.preset != self._preset:
            self.preset_switches += 1
            self._add(
                now_us,
                "preset",
                reason=job.reason,
                frame=index,
                preset=job.preset,
            )
        if job.scale != self._scale:
            self.size_switches += self._codec is not None
            details = {"frame": index, "scale": float(job.scale)}
            self._add(now_us, "size", reason=job.reason, **details)
            self._scale = job.scale

    def _key(self, job: EncodeJob, result: EncodedFrame, *, index: int, now_us: int) -> None:
        reason = self._reason if job.key or self._reason != "requested" else "encoder"
        self._add(now_us, "key", reason=reason, frame=index, bytes=len(result.data))
        self._reason = "requested"

    def _references(self, result: EncodedFrame, *, record: FrameRecord, now_us: int) -> None:
        record.ltr = result.ltr_slot is not None
        record.ltrp = self._restart is not None and not result.key
        if record.ltrp:
            reads = sorted(result.dependencies)
            self._add(now_us, "ltrp", reason=self._restart, frame=record.index, reads=reads)
        self._restart = None

    def _add(self, now_us: int, event: str, **details: object) -> None:
        self._events.add(now_us, self._peer, event, **details)


def log_feedback(message: RtcpMessage, *, peer: str, events: EventLog, now_us: int) -> None:
    """Log what a receiving peer asks for."""
    if isinstance(message, Nack):
        events.add(now_us, peer, "nack", reason="packets missing", sequences=list(message.lost))
    elif isinstance(message, PictureLossIndication):
        events.add(now_us, peer, "pli", reason="nothing decodable")
    elif isinstance(message, FullIntraRequest):
        events.add(now_us, peer, "fir", reason="nothing decodable")
    elif isinstance(message, ReferencePictureSelection):
        events.add(now_us, peer, "rpsi", reason="nothing decodable", frame_id=message.frame_id)
    elif isinstance(message, LtrAcknowledgement):
        ids = list(message.frame_ids)
        events.add(now_us, peer, "ltr ack", reason="no media carried it", frame_ids=ids)
    elif isinstance(message, ReceiverEstimatedMaximumBitrate):
        events.add(now_us, peer, "remb", reason="delay and rate", bps=message.bitrate_bps)
