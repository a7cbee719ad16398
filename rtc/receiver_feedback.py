"""What a receiver answers its source: reports, acknowledgements, requests for what is missing, for a way to go on."""

from __future__ import annotations

import random

from ..codecs.types import Codec
from .key_requests import KeyRequests, Request
from .messages import NegotiatedCodec, ReceivedFrame
from .reception import Reception
from .resilience.ltr_receiver import LtrReceiver
from .resilience.nack import DEFAULT_RTT_US, NackTracker
from .resilience.settings import ResilienceSettings, Switch
from .rtp.packet import RtpPacket
from .rtp.rtcp import (
    LtrAcknowledgement,
    Nack,
    PictureLossIndication,
    ReceiverReport,
    ReferencePictureSelection,
    RtcpMessage,
    SenderReport,
)
from .stats import InboundCounters

# RFC 3550 6.2 asks for about 5 s at these rates; libwebrtc's video interval is 1 s, halved to one and a half at random.
REPORT_INTERVAL_US = 1_000_000


class ReceiverFeedback:
    """The RTCP for one source at a time, once its first packet came; ssrc is the one we answer from."""

    def __init__(
        self,
        *,
        ssrc: int,
        codecs: tuple[NegotiatedCodec, ...],
        resilience: ResilienceSettings,
        counters: InboundCounters,
        rng: random.Random,
        now_us: int,
    ) -> None:
        self.rtt_us = DEFAULT_RTT_US
        self._ssrc = ssrc
        av1 = [c.payload_type for c in codecs if c.codec is Codec.AV1]
        self._reference_type = av1[0] if av1 and resilience.ltr is not Switch.OFF else None
        self._repairs = resilience.nack is not Switch.OFF
        self._counters = counters
        self._rng = rng
        self._next_report_us = self._report_time(now_us)
        self.begin()

    def begin(self) -> None:
        """Start on a new source."""
        self.nacks = NackTracker()
        self.key_requests = KeyRequests()
        self.ltr = LtrReceiver()
        self._reception: Reception | None = None

    def measure(self, packet: RtpPacket, *, sequence: int, now_us: int) -> None:
        """Count a packet of the source that is not a retransmission; sequence is unwrapped."""
        if self._reception is None:
            self._reception = Reception(ssrc=packet.ssrc)
        reception = self._reception
        reception.packet(sequence=sequence, timestamp=packet.timestamp, now_us=now_us)
        self._counters.packetsLost = reception.packets_lost
        self._counters.jitter = reception.jitter

    def handle_sender_report(self, report: SenderReport, *, now_us: int) -> None:
        """Take a sender report of the source."""
        if self._reception is not None:
            self._reception.sender_report(ntp_timestamp=report.ntp_timestamp, now_us=now_us)

    def decoded(self, frame: ReceivedFrame, *, now_us: int) -> None:
        """Note that a frame was decoded, and what it means for references."""
        if frame.key:
            self.ltr.forget()
        mark = frame.ltr
        if mark is None or self._reference_type is None or frame.codec is not Codec.AV1:
            return
        if mark.is_recovery:
            self._counters.recoveryFramesDecoded += 1
            self.ltr.decoded_recovery(frame.dependencies)
        if mark.is_ltr:
            self._counters.ltrFramesDecoded += 1
            self.ltr.decoded_ltr(mark.frame_id, now_us=now_us)

    def undecodable(self) -> None:
        """Note that the decoder failed: what it holds is unknown until a key frame."""
        self.ltr.forget()
        self.key_requests.require()

    def poll(self, *, now_us: int) -> list[RtcpMessage]:
        """Messages that are due."""
        if self._reception is None:
            return []
        media_ssrc = self._reception.ssrc
        messages: list[RtcpMessage] = []
        if now_us >= self._next_report_us:
            self._next_report_us = self._report_time(now_us)
            block = self._reception.report(now_us=now_us)
            messages.append(ReceiverReport(ssrc=self._ssrc, reports=(block,)))
        messages += self._repair_requests(media_ssrc, now_us=now_us)
        messages += self._recovery_requests(media_ssrc, now_us=now_us)
        frame_id = self.ltr.poll(now_us=now_us, rtt_us=self.rtt_us)
        if frame_id is not None:
            self._counters.ltrAckCount += 1
            messages.append(
                LtrAcknowledgement(
                    sender_ssrc=self._ssrc, media_ssrc=media_ssrc, frame_ids=(frame_id,)
                )
            )
        return messages

    def poll_timeout(self) -> int | None:
        """When something is due if nothing arrives; None before the first packet."""
        if self._reception is None:
            return None
        times = (
            self.nacks.poll_timeout(),
            self.key_requests.poll_timeout(
                rtt_us=self.rtt_us, has_reference=self.ltr.newest is not None
            ),
            self.ltr.poll_timeout(),
        )
        return min((t for t in times if t is not None), default=self._next_report_us)

    def _repair_requests(self, media_ssrc: int, *, now_us: int) -> list[RtcpMessage]:
        last_base = self.nacks.last_base
        lost = self.nacks.poll(now_us=now_us, rtt_us=self.rtt_us)
        given_up = self.nacks.take_given_up()
        if lost and not self._repairs:
            # What has not come by the time it would be asked for does not come.
            given_up = last_base
        if given_up is not None:
            self.key_requests.gave_up(given_up)
        if not lost or not self._repairs:
            return []
        self._counters.nackCount += 1
        numbers = tuple(s & 0xFFFF for s in lost)
        return [Nack(sender_ssrc=self._ssrc, media_ssrc=media_ssrc, lost=numbers)]

    def _recovery_requests(self, media_ssrc: int, *, now_us: int) -> list[RtcpMessage]:
        newest = self.ltr.newest
        request = self.key_requests.poll(
            now_us=now_us, rtt_us=self.rtt_us, has_reference=newest is not None
        )
        if request is Request.KEY:
            self._counters.pliCount += 1
            return [PictureLossIndication(sender_ssrc=self._ssrc, media_ssrc=media_ssrc)]
        if request is Request.REFERENCE and newest is not None and self._reference_type is not None:
            self._counters.rpsiCount += 1
            return [
                ReferencePictureSelection(
                    sender_ssrc=self._ssrc,
                    media_ssrc=media_ssrc,
                    payload_type=self._reference_type,
                    frame_id=newest,
                )
            ]
        return []

    def _report_time(self, now_us: int) -> int:
        # RFC 3550 6.2: the interval varies over half to one and a half times its mean.
        return now_us + int(REPORT_INTERVAL_US * (0.5 + self._rng.random()))
