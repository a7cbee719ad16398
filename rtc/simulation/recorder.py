"""Follows one direction of a call, picture by picture and packet by packet. Times are virtual."""

from __future__ import annotations

from collections import Counter

from ...codecs.types import EncodedFrame, Picture
from ...ratecontrol.messages import DropReason
from ...ratecontrol.vbv import VbvBuffer
from ..encode_loop import Skipped
from ..encoder_session import EncodeJob
from ..messages import VIDEO_CLOCK_HZ, ReceivedFrame
from ..rtp.rtcp import (
    Nack,
    ReceiverEstimatedMaximumBitrate,
    RtcpMessage,
    salvage_rtcp,
)
from .adaptations import AdaptationLog
from .decisions import SenderDecisions, log_feedback
from .encoder_queue import EncoderQueue
from .link import Delivered, Lost
from .records import EventLog, FrameRecord, PacketKind, PacketRecord
from .screen import Screen
from .wire import Description, Wire, wire_bytes

TIMESTAMP_MASK = 0xFFFFFFFF
# Kinds whose packets carry a part of a frame.
FRAME_KINDS = (PacketKind.MEDIA, PacketKind.RTX, PacketKind.PADDING)


class Recorder:
    """See the module. sender and receiver are the peers' names."""

    def __init__(
        self,
        *,
        direction: str,
        sender: str,
        receiver: str,
        first_timestamp: int,
        wire: Wire,
        screen: Screen,
        events: EventLog,
    ) -> None:
        self.direction = direction
        self.frames: list[FrameRecord] = []
        self.packets: list[PacketRecord] = []
        self.bitstream: list[tuple[FrameRecord, ReceivedFrame]] = []
        """What went to the decoder, in order."""
        self.payload_bytes = dict.fromkeys(PacketKind, 0)
        self.recoveries_us: list[int] = []
        """Of each lost packet's frame that a later decoded frame follows; see the README's figures."""
        self.av_offsets_us: list[int] = []
        """How much later each picture was shown than its sound was heard."""
        self.estimate_bps: int | None = None
        """What the receiver's REMB said last."""
        self.screen = screen
        self.decisions = SenderDecisions(peer=sender, events=events)
        self.adaptations = AdaptationLog(peer=sender, events=events)
        self._receiver, self._events = receiver, events
        self._wire, self._first_timestamp = wire, first_timestamp
        self._vbv: VbvBuffer | None = None
        self.requests: Counter[type[RtcpMessage]] = Counter()
        """How many the receiver sent of each message."""
        self.fec_recovered = 0
        """Packets that were lost, not repeated in time, and yet part of a whole frame."""
        self._by_timestamp: dict[int, FrameRecord] = {}
        self._lost_packets: dict[int, list[int]] = {}
        self._repeated_us: dict[int, int] = {}
        self._lost: tuple[int, int] | None = None
        self._missing: set[int] = set()
        """Numbers of packets that were lost or asked for, and not sent again since."""
        self._encoder = EncoderQueue()

    def captured(self, picture: Picture, *, now_us: int) -> None:
        """A picture was captured; picture.capture_us is on its peer's clock."""
        index = len(self.frames)
        record = FrameRecord(
            direction=self.direction, index=index, capture_us=now_us, every=self._encoder.every
        )
        self.frames.append(record)
        self._by_timestamp[self._timestamp(picture.capture_us)] = record
        self.screen.captured(picture, index=index, now_us=now_us)

    def left_out(self, picture: Picture, *, reason: DropReason) -> None:
        """The sender did not take a picture."""
        self._by_timestamp[self._timestamp(picture.capture_us)].skipped = reason

    def taken(self, picture: Picture) -> None:
        """The sender took a picture, in place of the one that was waiting, if any."""
        self._encoder.taken(self._by_timestamp[self._timestamp(picture.capture_us)])

    def encoding(self, job: EncodeJob, *, expired: int = 0, now_us: int) -> None:
        """A job began; expired counts the encoded frames that waited too long to be sent."""
        record = self._by_timestamp[self._timestamp(job.picture.capture_us)]
        self._encoder.began(every=job.every)
        record.encode_us = now_us
        record.target_bps = job.target_bps
        record.preset, record.scale = job.preset, float(job.scale)
        record.every = job.every
        if self._vbv is None:
            self._vbv = VbvBuffer(job.target_bps)
        self._vbv.set_target(job.target_bps, now_us=job.now_us)
        self.decisions.job(job, index=record.index, expired=expired, now_us=now_us)

    def encoded(
        self, job: EncodeJob, result: EncodedFrame | Skipped | None, *, now_us: int
    ) -> None:
        """A job's result is there."""
        record = self._by_timestamp[self._timestamp(job.picture.capture_us)]
        self._encoder.ended()
        record.encoded_us = now_us
        self.decisions.result(job, result, record=record, now_us=now_us)
        if not isinstance(result, EncodedFrame):
            record.skipped = result.reason if result is not None else "encoder failed"
            record.tries = result.tries if result is not None else None
            return
        assert self._vbv is not None
        self._vbv.add(8 * len(result.data), now_us=job.now_us)
        record.vbv_delay_us = self._vbv.delay_us(job.now_us)
        record.skipped = ""
        record.codec = result.codec
        record.frame_id, record.key = result.frame_id, result.key
        record.quantizer, record.temporal_id = result.quantizer, result.temporal_id
        record.width, record.height = result.width, result.height
        record.tries, record.bytes = result.tries, len(result.data)

    def sent(self, data: bytes, fate: Delivered | Lost, *, now_us: int) -> PacketRecord:
        """A datagram was offered to the link."""
        what = self._wire.describe(data)
        kind = self._kind(what)
        self.payload_bytes[kind] += what.payload_bytes
        packet = PacketRecord(
            direction=self.direction,
            sent_us=now_us,
            size_bytes=wire_bytes(data),
            kind=kind,
            sequence=what.sequence,
            queue_us=fate.queue_us,
        )
        self.packets.append(packet)
        if isinstance(fate, Delivered):
            packet.arrival_us = fate.arrival_us
        else:
            packet.fate = fate.reason
        if kind in FRAME_KINDS:
            self._count(packet, self._by_timestamp.get(what.timestamp))
        return packet

    def feedback(self, message: RtcpMessage) -> None:
        """An RTCP message about this direction came to its sender."""
        self.decisions.feedback(message)
        if isinstance(message, Nack):
            self._missing.update(message.lost)
        elif isinstance(message, ReceiverEstimatedMaximumBitrate):
            self.estimate_bps = message.bitrate_bps

    def asked(self, data: bytes, *, now_us: int) -> None:
        """The receiving peer sends an RTCP packet about this direction."""
        for message in salvage_rtcp(data)[0]:
            self.requests[type(message)] += 1
            log_feedback(message, peer=self._receiver, events=self._events, now_us=now_us)

    def received(self, frame: ReceivedFrame, *, now_us: int) -> None:
        """A whole frame went to the decoder."""
        record = self._record_of(frame)
        record.received_us = now_us
        self._count_recovered(record, now_us=now_us)
        self.bitstream.append((record, frame))

    def decoded(self, frame: ReceivedFrame, *, failed: bool, now_us: int) -> None:
        """The decoder is through with a frame."""
        record = self._record_of(frame)
        record.decode_failed = failed
        if failed:
            return
        record.decoded_us = now_us
        if self._lost is not None and record.index > self._lost[0]:
            self.recoveries_us.append(now_us - self._lost[1])
            self._lost = None

    def shown(
        self,
        frame: ReceivedFrame,
        picture: Picture,
        *,
        sound_latency_us: int | None,
        now_us: int,
    ) -> None:
        """A picture is on the screen from now on, to sound of that latency, None to silence."""
        record = self._record_of(frame)
        record.shown_us = now_us
        if sound_latency_us is not None:
            self.av_offsets_us.append(now_us - record.capture_us - sound_latency_us)
        frozen_us = self.screen.freezes.total_us
        ended = self.screen.shown(
            picture, index=record.index, capture_us=record.capture_us, now_us=now_us
        )
        if ended:
            frozen_us = self.screen.freezes.total_us - frozen_us
            self.decisions.freeze(self.direction, frozen_us=frozen_us, now_us=now_us)

    def finish(self, now_us: int) -> None:
        """Take what has no end yet as lasting until now."""
        self._encoder.finish()
        self.screen.finish(now_us)
        for index, score_db in self.screen.scores_db.items():
            self.frames[index].psnr_y = score_db
            self.frames[index].on_screen = self.screen.on_screen[index]
        if self._lost is not None:
            self.recoveries_us.append(now_us - self._lost[1])
            self._lost = None

    def preset_of(self, frame: ReceivedFrame) -> str:
        """What a frame was encoded with, which decoding's cost depends on."""
        return self._record_of(frame).preset

    def _kind(self, what: Description) -> PacketKind:
        """A repeated packet that nobody missed since it was repeated last is padding."""
        if what.kind is not PacketKind.RTX:
            return what.kind
        if not what.payload_bytes or what.sequence not in self._missing:
            return PacketKind.PADDING
        self._missing.remove(what.sequence)
        return PacketKind.RTX

    def _count(self, packet: PacketRecord, frame: FrameRecord | None) -> None:
        if frame is None:
            return
        packet.frame_index = frame.index
        assert packet.sequence is not None
        if packet.kind is not PacketKind.MEDIA:
            if packet.arrival_us is not None:
                earlier_us = self._repeated_us.get(packet.sequence, packet.arrival_us)
                self._repeated_us[packet.sequence] = min(earlier_us, packet.arrival_us)
            return
        frame.packets += 1
        self._missing.discard(packet.sequence)
        if packet.fate:
            frame.packets_lost += 1
            self._missing.add(packet.sequence)
            self._lost_packets.setdefault(frame.index, []).append(packet.sequence)
            self._repeated_us.pop(packet.sequence, None)
            if self._lost is None:
                self._lost = (frame.index, packet.sent_us)

    def _count_recovered(self, frame: FrameRecord, *, now_us: int) -> None:
        lost = self._lost_packets.pop(frame.index, [])
        if self.payload_bytes[PacketKind.FEC]:
            late_us = now_us + 1
            self.fec_recovered += sum(self._repeated_us.get(n, late_us) > now_us for n in lost)

    def _record_of(self, frame: ReceivedFrame) -> FrameRecord:
        return self._by_timestamp[frame.rtp_timestamp & TIMESTAMP_MASK]

    def _timestamp(self, capture_us: int) -> int:
        """As Packetizer.timestamp."""
        return (self._first_timestamp + capture_us * VIDEO_CLOCK_HZ // 1_000_000) & TIMESTAMP_MASK
