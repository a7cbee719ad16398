"""Turns what a sender does into a log of decisions, each with its reason."""

from __future__ import annotations

from ...codecs.types import Codec, EncodedFrame
from ..encode_loop import Skipped
from ..encoder_session import EncodeJob
from ..rtp.rtcp import (
    FullIntraRequest,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
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
        self._reason = "first picture"
        """Why the next key frame is made, if it is."""
        self._expired = 0
        self._target_reason = "setting"
        self._ltr_ids: set[int] = set()
        self._last_base_id: int | None = None
        self.codec_switches = 0

    def feedback(self, message: RtcpMessage) -> None:
        """Note what arrived: it is the reason of what follows."""
        if isinstance(message, PictureLossIndication):
            self._reason = "PLI"
        elif isinstance(message, FullIntraRequest):
            self._reason = "FIR"
        elif isinstance(message, ReceiverEstimatedMaximumBitrate):
            self._target_reason = "receiver's estimate"

    def job(self, job: EncodeJob, *, index: int, expired: int, now_us: int) -> None:
        """Note what was decided before encoding; expired counts frames that were never sent."""
        if expired > self._expired:
            self._expired, self._reason = expired, "frames came too late to be sent"
        if job.target_bps != self._target_bps:
            self._add(now_us, "target", reason=self._target_reason, bps=job.target_bps)
            self._target_bps = job.target_bps
            self._target_reason = "sender's estimate"
        size = (job.picture.width, job.picture.height)
        if self._codec is not None and job.codec is not self._codec:
            self.codec_switches += 1
            self._add(now_us, "codec", reason=job.codec_reason, frame=index, codec=job.codec)
            self._reason = "codec switch"
        elif self._codec is not None and size != self._size:
            self._reason = "picture size"
        if job.every != self._every:
            self._add(now_us, "frame rate", reason="rate", frame=index, every=job.every)
            self._every = job.every
        if self._preset and job.preset != self._preset:
            self._add(now_us, "preset", reason="sender's choice", frame=index, preset=job.preset)
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

    def _key(self, job: EncodeJob, result: EncodedFrame, *, index: int, now_us: int) -> None:
        reason = self._reason if job.key or self._reason != "requested" else "encoder"
        self._add(now_us, "key", reason=reason, frame=index, bytes=len(result.data))
        self._reason = "requested"
        self._ltr_ids.clear()

    def _references(self, result: EncodedFrame, *, record: FrameRecord, now_us: int) -> None:
        """An LTRP reads long-term references alone, and not because one is the frame before."""
        dependencies = set(result.dependencies)
        if (
            dependencies
            and dependencies <= self._ltr_ids
            and self._last_base_id not in dependencies
        ):
            record.ltrp = True
            self._add(now_us, "ltrp", reason="loss", frame=record.index, reads=sorted(dependencies))
        if result.ltr_slot is not None:
            record.ltr = True
            self._ltr_ids.add(result.frame_id)
        if result.temporal_id == 0:
            self._last_base_id = result.frame_id

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
    elif isinstance(message, ReceiverEstimatedMaximumBitrate):
        events.add(now_us, peer, "remb", reason="delay and rate", bps=message.bitrate_bps)
