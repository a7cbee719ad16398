"""How stock aiortc 1.16 sends H.264, modelled from its rtcrtpsender.py and codecs/h264.py.

Its encoder, which is aiortc's own, starts anew with a key frame whenever the rate changes by more
than a tenth; the rate is the receiver's REMB, held in 0.5 to 3 Mbit/s. A PLI makes the next frame a
key frame; a NACK is answered from the last 128 packets, each time. No pacing, no dependency
descriptor, no bound on a frame's size.
"""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from ...codecs.types import (
    KEY_REFERENCES,
    Codec,
    Content,
    EncodedFrame,
    EncodeRequest,
    Picture,
    VideoEncoder,
)
from ..adaptation.decisions import AdaptationDecision
from ..adaptation.health import DeviceHealth
from ..drain import SenderOutput
from ..encode_loop import Skipped
from ..encoder_session import EncodeJob
from ..messages import VIDEO_CLOCK_HZ, NegotiatedCodec
from ..packetizer import StreamIdentity
from ..resilience.decisions import Decision
from ..rtp.extensions import ExtensionMap, HeaderExtensions, abs_send_time, ntp_from_us
from ..rtp.h264_payload import packetize_h264
from ..rtp.packet import RtpPacket, wrap_rtx
from ..rtp.rtcp import (
    FullIntraRequest,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
    ReceiverReport,
    RtcpMessage,
    SenderReport,
    serialize_rtcp,
)
from ..stats import OutboundCounters

# aiortc codecs/h264.py: DEFAULT_BITRATE, MIN_BITRATE, MAX_BITRATE, PACKET_MAX.
DEFAULT_BPS = 1_000_000
MIN_BPS = 500_000
MAX_BPS = 3_000_000
MAX_PAYLOAD_BYTES = 1300
# aiortc rtp.py RTP_HISTORY_SIZE.
HISTORY_PACKETS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class StockSettings:
    """What signalling agreed on."""

    identity: StreamIdentity
    codec: NegotiatedCodec
    extensions: ExtensionMap
    wall_offset_us: int
    open_encoder: Callable[[], VideoEncoder]


class StockSender:
    """See the module. A SendingEnd."""

    def __init__(self, settings: StockSettings, *, rng: random.Random, now_us: int) -> None:
        self.counters = OutboundCounters()
        self.rtt_us: int | None = None
        self.estimate_bps: int | None = None
        self._settings = settings
        self._rng = rng
        self.target_bps = DEFAULT_BPS
        self._encoder = settings.open_encoder()
        self._pending: Picture | None = None
        self._job: EncodeJob | None = None
        self._key_wanted = True
        self._frame_id = 0
        self._sequence = settings.identity.first_sequence
        self._rtx_sequence = settings.identity.first_rtx_sequence
        self._queue: deque[RtpPacket] = deque()
        self._history: OrderedDict[int, RtpPacket] = OrderedDict()
        self._last_report: tuple[int, int] | None = None
        self._next_report_us = self._report_time(now_us)

    def handle_picture(self, picture: Picture) -> None:
        """See SendingEnd; the newest picture waits, as in the tracks that aiortc reads."""
        self.counters.framesCaptured += 1
        self.counters.framesDropped += self._pending is not None
        self._pending = picture

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """See SendingEnd."""
        ssrc = self._settings.identity.ssrc
        if isinstance(message, ReceiverReport | SenderReport):
            self._measure_rtt(message, now_us=now_us)
        elif isinstance(message, Nack) and message.media_ssrc == ssrc:
            self.counters.nackCount += 1
            for number in message.lost:
                self._retransmit(number)
        elif isinstance(message, PictureLossIndication) and message.media_ssrc == ssrc:
            self.counters.pliCount += 1
            self._key_wanted = True
        elif isinstance(message, FullIntraRequest):
            self._key_wanted |= any(media_ssrc == ssrc for media_ssrc, _ in message.requests)
        elif isinstance(message, ReceiverEstimatedMaximumBitrate) and ssrc in message.ssrcs:
            self.target_bps = max(MIN_BPS, min(message.bitrate_bps, MAX_BPS))

    def drain(self, *, now_us: int) -> SenderOutput:
        """See SendingEnd."""
        packets, self._queue = self._queue, deque()
        for packet in packets:
            self.counters.packetsSent += 1
            self.counters.bytesSent += len(packet.payload)
        return SenderOutput(
            job=self._next_job(now_us),
            rtp=[packet.serialize() for packet in packets],
            rtcp=self._reports(now_us),
            wake_us=self._next_report_us,
        )

    def encode(self, job: EncodeJob) -> EncodedFrame | Skipped:
        """See SendingEnd."""
        return self._encoder.encode(
            EncodeRequest(
                picture=job.picture,
                frame_id=job.frame_id,
                quantizer=0,
                target_bps=job.target_bps,
                key=job.key,
                reads=KEY_REFERENCES if job.key else (0,),
                dependencies=() if job.key else (job.frame_id - 1,),
            )
        )

    def handle_encoded(self, result: EncodedFrame | Skipped, *, now_us: int) -> None:
        """See SendingEnd."""
        self._job = None
        if not isinstance(result, EncodedFrame):
            return
        self.counters.framesEncoded += 1
        self.counters.keyFramesEncoded += result.key
        self._frame_id += 1
        payloads = packetize_h264(result.data, max_payload_bytes=MAX_PAYLOAD_BYTES)
        for payload in payloads:
            self._add_packet(result, payload, last=payload is payloads[-1], now_us=now_us)

    def poll_decisions(self) -> list[Decision]:
        """See SendingEnd; aiortc's decides nothing but what it is asked for."""
        return []

    def handle_health(self, health: DeviceHealth, *, now_us: int) -> None:
        """See SendingEnd; aiortc heeds no device."""

    def poll_adaptations(self) -> list[AdaptationDecision]:
        """See SendingEnd."""
        return []

    def close(self) -> None:
        """See SendingEnd."""
        self._encoder.close()

    def _next_job(self, now_us: int) -> EncodeJob | None:
        if self._pending is None or self._job is not None:
            return None
        picture, self._pending = self._pending, None
        self._job = EncodeJob(
            picture=picture,
            codec=Codec.H264,
            frame_id=self._frame_id,
            key=self._key_wanted,
            ltr=False,
            target_bps=self.target_bps,
            preset="default",
            content=Content.CAMERA,
            now_us=now_us,
        )
        self._key_wanted = False
        return self._job

    def _add_packet(self, frame: EncodedFrame, payload: bytes, *, last: bool, now_us: int) -> None:
        settings = self._settings
        values = HeaderExtensions(
            mid=settings.identity.mid,
            abs_send_time=abs_send_time(now_us + settings.wall_offset_us),
        )
        packet = RtpPacket(
            payload_type=settings.codec.payload_type,
            marker=last,
            sequence_number=self._sequence,
            timestamp=self._timestamp(frame.capture_us),
            ssrc=settings.identity.ssrc,
            payload=payload,
            extensions=settings.extensions.pack(values),
        )
        self._sequence = (self._sequence + 1) & 0xFFFF
        self._queue.append(packet)
        self._history[packet.sequence_number] = packet
        if len(self._history) > HISTORY_PACKETS:
            self._history.popitem(last=False)

    def _timestamp(self, capture_us: int) -> int:
        first = self._settings.identity.first_timestamp
        return (first + capture_us * VIDEO_CLOCK_HZ // 1_000_000) & 0xFFFFFFFF

    def _retransmit(self, number: int) -> None:
        packet, rtx_type = self._history.get(number), self._settings.codec.rtx_payload_type
        if packet is None or rtx_type is None:
            return
        self._queue.append(
            wrap_rtx(
                packet,
                payload_type=rtx_type,
                ssrc=self._settings.identity.rtx_ssrc,
                sequence_number=self._rtx_sequence,
            )
        )
        self._rtx_sequence = (self._rtx_sequence + 1) & 0xFFFF
        self.counters.retransmittedPacketsSent += 1

    def _reports(self, now_us: int) -> list[bytes]:
        if now_us < self._next_report_us:
            return []
        self._next_report_us = self._report_time(now_us)
        ntp = ntp_from_us(now_us + self._settings.wall_offset_us)
        self._last_report = ((ntp >> 16) & 0xFFFFFFFF, now_us)
        report = SenderReport(
            ssrc=self._settings.identity.ssrc,
            ntp_timestamp=ntp,
            rtp_timestamp=self._timestamp(now_us),
            packet_count=self.counters.packetsSent & 0xFFFFFFFF,
            octet_count=self.counters.bytesSent & 0xFFFFFFFF,
        )
        return [serialize_rtcp([report])]

    def _measure_rtt(self, message: ReceiverReport | SenderReport, *, now_us: int) -> None:
        for report in message.reports:
            if self._last_report and report.last_sr == self._last_report[0]:
                delay_us = report.delay_since_last_sr * 1_000_000 >> 16
                self.rtt_us = max(0, now_us - self._last_report[1] - delay_us)

    def _report_time(self, now_us: int) -> int:
        # _run_rtcp: half a second to one and a half, at random.
        return now_us + int(1_000_000 * (0.5 + self._rng.random()))
