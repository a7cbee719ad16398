"""aiortc's RTCRtpSender over a SenderCore."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from aiortc.codecs import is_rtx
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpparameters import (
    RTCRtpCapabilities,
    RTCRtpCodecParameters,
    RTCRtpSendParameters,
)
from aiortc.rtcrtpsender import RTCEncodedFrame, RTCRtpSender
from aiortc.rtp import AnyRtcpPacket
from aiortc.stats import RTCStatsReport
from aiortc.utils import random32

from ...codecs.factory import prepare_encoder
from ...codecs.types import Codec
from ..adaptation.decode_report import DecodeReport
from ..adaptation.settings import AdaptationSettings
from ..messages import NegotiatedCodec
from ..packetizer import StreamIdentity
from ..resilience.settings import ResilienceSettings
from ..rtp.extensions import TRANSPORT_CC
from ..rtp.rtcp import ReceiverEstimatedMaximumBitrate, RtcpMessage
from ..sender import SenderCore, SenderSettings
from .audio_encoder import CallOpusEncoder
from .capabilities import (
    REMB_FEEDBACK,
    has_agreed,
    negotiated_codecs,
    negotiated_extensions,
    video_capabilities,
)
from .clock import now_us
from .controls import SenderControls
from .devices import Devices
from .dtls_transport import CallDtlsTransport
from .endpoint import CoreEndpoint
from .fec_formats import is_fec, negotiated_flexfec, negotiated_red
from .pump import EventSink
from .sender_driver import SenderDriver
from .settings import CallSettings
from .stats import outbound_stats, stats_report

logger = logging.getLogger("codecpilot.rtc")


class CallRtpSender(SenderControls, RTCRtpSender, CoreEndpoint):
    """Sends video through a SenderCore; audio, and codecs that only aiortc knows, through aiortc."""

    def __init__(self, trackOrKind: Any, transport: RTCDtlsTransport) -> None:
        RTCRtpSender.__init__(self, trackOrKind, transport)
        SenderControls.__init__(self)
        self._settings = CallSettings()
        self._devices = Devices()
        self._emit: EventSink = lambda name, value: None
        self._driver: SenderDriver | None = None
        # Whichever implementation starts the stream keeps it.
        self._is_stock = False
        self._honours_remb = False
        self._opus: CallOpusEncoder | None = None
        self.flexfec_ssrc = random32()
        """Where FlexFEC for the stream comes from, should it be agreed on."""
        self.announces_flexfec = False
        """Whether our description names that source too."""

    @classmethod
    def getCapabilities(cls, kind: str) -> RTCRtpCapabilities:
        """What can be sent, the most optimistic view."""
        return video_capabilities() if kind == "video" else super().getCapabilities(kind)

    @property
    def resilience(self) -> ResilienceSettings:
        """Which means against loss the connection uses, both ways."""
        return self._settings.resilience

    @property
    def core(self) -> SenderCore | None:
        """The core that runs this sender; None before it starts and where aiortc's own serves."""
        return self._driver.core if self._driver else None

    def configure(self, settings: CallSettings, emit: EventSink, *, devices: Devices) -> None:
        """Set what the connection decides: called once, before the sender starts."""
        self._settings, self._emit, self._devices = settings, emit, devices
        self.set_limits(settings.limits)
        if self.kind == "video":
            prepare_encoder(Codec(settings.codecs[0]))

    async def send(self, parameters: RTCRtpSendParameters) -> None:
        """Start sending with what was negotiated; a later call only leaves a codec given up since."""
        parameters = self._understood(parameters)
        codecs = negotiated_codecs(parameters.codecs)
        if self._driver is not None:
            self._driver.keep_to({c.codec for c in codecs})
        elif self.kind != "video" or not codecs or self._is_stock:
            self._is_stock = True
            await super().send(parameters)
        else:
            settings = SenderSettings(
                identity=self._identity(parameters.muxId),
                cname=parameters.rtcp.cname or "",
                codecs=codecs,
                extensions=negotiated_extensions(parameters),
                target_bps=self._settings.target_bps,
                preset=self._settings.preset,
                flexfec=negotiated_flexfec(parameters.codecs, ssrc=self.flexfec_ssrc),
                red=negotiated_red(parameters.codecs),
                resilience=self._settings.resilience,
                adaptation=self._adaptation(codecs),
            )
            self._honours_remb = has_agreed(REMB_FEEDBACK, parameters.codecs)
            transport = cast(CallDtlsTransport, self.transport)
            path = transport.open_send_path(has_feedback=TRANSPORT_CC in settings.extensions)
            self.transport._register_rtp_sender(self, parameters)
            self._driver = SenderDriver(
                self,
                settings=settings,
                path=path,
                encoder_threads=self._settings.encoder_threads,
                emit=self._emit,
                devices=self._devices,
            )
            self._start_controls(self._driver.core)
            self.runs_core = True

    async def stop(self) -> None:
        """Stop for good."""
        if self._driver is None:
            await super().stop()
        elif self.runs_core:
            self.runs_core = False
            self.transport._unregister_rtp_sender(self)
            await self._driver.stop()

    async def getStats(self) -> RTCStatsReport:
        """Statistics under W3C's names."""
        if self._driver is None:
            return await super().getStats()
        entries = outbound_stats(
            self,
            core=self._driver.core,
            implementation=self._driver.implementation,
            adaptation=self._driver.adaptation,
            adaptations=self._driver.adaptations,
            now_us=now_us(),
        )
        return stats_report(entries, self.transport)

    def handle_rtp_data(self, data: bytes, *, arrival_us: int) -> None:
        """A sender receives no media."""

    def handle_rtcp_message(self, message: RtcpMessage) -> None:
        """Take feedback; an estimate that was not agreed on is not one."""
        if isinstance(message, ReceiverEstimatedMaximumBitrate) and not self._honours_remb:
            return
        if self._driver is not None:
            self._driver.core.handle_rtcp(message, now_us=now_us())
            self._driver.wake()

    def handle_decode_report(self, report: DecodeReport) -> None:
        """Take what a browser's page says of its decoder."""
        if self._driver is not None:
            self._driver.core.handle_decode_report(report, now_us=now_us())

    def count_malformed_rtcp(self, packets: int) -> None:
        """Note unreadable feedback."""
        if self._driver is not None:
            self._driver.core.counters.malformedRtcp += packets

    async def _handle_rtcp_packet(self, packet: AnyRtcpPacket) -> None:
        if not self.runs_core:
            await super()._handle_rtcp_packet(packet)

    async def _next_encoded_frame(self, codec: RTCRtpCodecParameters) -> RTCEncodedFrame | None:
        if codec.mimeType.lower() == "audio/opus":
            if self._opus is None:
                self._opus = CallOpusEncoder(
                    audio_bps=self._settings.audio_bps, video_bps=self._settings.target_bps
                )
                # aiortc opens an encoder where it has none.
                self._RTCRtpSender__encoder = self._opus
            path = cast(CallDtlsTransport, self.transport).send_path
            self._opus.follow(path, now_us=now_us())
        return await super()._next_encoded_frame(codec)

    def _send_keyframe(self) -> None:
        if self._driver is None:
            super()._send_keyframe()
        else:
            self._driver.core.request_key()

    def _understood(self, parameters: RTCRtpSendParameters) -> RTCRtpSendParameters:
        """Without RTX for a peer that may not see which source it comes from.

        aiortc sees it only in a description that names no source besides; without RTX a lost packet is
        sent again as it was.
        """
        if not self.announces_flexfec or any(is_fec(c) for c in parameters.codecs):
            return parameters
        return replace(parameters, codecs=[c for c in parameters.codecs if not is_rtx(c)])

    def _adaptation(self, codecs: Sequence[NegotiatedCodec]) -> AdaptationSettings:
        devices = self._devices
        settings = self._settings.adaptation_settings(
            peer_score=devices.peer_score, start=devices.start
        )
        allowed = settings.send_codecs
        if allowed is None or any(c.codec in allowed for c in codecs):
            return settings
        agreed = ", ".join(c.codec for c in codecs)
        logger.warning("none of send_codecs was agreed on: %s is sent", agreed)
        return replace(settings, send_codecs=None)

    def _identity(self, mid: str) -> StreamIdentity:
        # RFC 3550 5.1: numbers begin at random; below 2^15 so that SRTP's index does not wrap at once.
        rng = random.SystemRandom()
        return StreamIdentity(
            ssrc=self._ssrc,
            rtx_ssrc=self._rtx_ssrc,
            mid=mid or None,
            first_sequence=rng.randrange(1 << 15),
            first_rtx_sequence=rng.randrange(1 << 15),
            first_fec_sequence=rng.randrange(1 << 15),
            first_timestamp=rng.randrange(1 << 32),
        )
