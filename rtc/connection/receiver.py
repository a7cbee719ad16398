"""aiortc's RTCRtpReceiver over a ReceiverCore."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterable
from typing import Any, cast

from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpparameters import RTCRtpCapabilities, RTCRtpReceiveParameters
from aiortc.rtcrtpreceiver import RTCRtpReceiver, RTCRtpSynchronizationSource
from aiortc.rtp import AnyRtcpPacket, RtcpSrPacket
from aiortc.stats import RTCStatsReport

from ..messages import NegotiatedCodec
from ..playout.av_sync import AvSync
from ..receiver import ReceiverCore, ReceiverSettings
from ..resilience.settings import ResilienceSettings
from ..rtp.extensions import TRANSPORT_CC
from ..rtp.rtcp import Bye, RtcpMessage
from .audio_times import AudioTimes
from .capabilities import (
    DECODE_FEEDBACK,
    REMB_FEEDBACK,
    has_agreed,
    negotiated_codecs,
    negotiated_extensions,
    video_capabilities,
)
from .clock import now_us
from .dtls_transport import CallDtlsTransport
from .endpoint import CoreEndpoint
from .fec_formats import negotiated_flexfec, negotiated_red
from .pump import EventSink
from .receiver_driver import ReceiverDriver
from .remb import RembSource
from .remote_track import CallRemoteStreamTrack
from .sender import CallRtpSender
from .stats import inbound_stats, stats_report

# W3C webrtc-pc 5.3: sources heard from in the last 10 s.
SOURCE_AGE_US = 10_000_000


class CallRtpReceiver(RTCRtpReceiver, CoreEndpoint):
    """Receives video through a ReceiverCore; audio, and codecs that only aiortc knows, through aiortc."""

    def __init__(self, kind: str, transport: RTCDtlsTransport) -> None:
        super().__init__(kind, transport)
        self._kind = kind
        self._emit: EventSink = lambda name, value: None
        self._sender: CallRtpSender | None = None
        self._driver: ReceiverDriver | None = None
        # Whichever implementation starts the stream keeps it.
        self._is_stock = False
        self._rtcp_ssrc = 0
        self.flexfec_ssrc: int | None = None
        """Where the peer says that its FlexFEC for the stream comes from."""
        self._audio_times: AudioTimes | None = None
        self._av_sync = AvSync()
        self._goes_with: tuple[AvSync, ...] = ()

    @classmethod
    def getCapabilities(cls, kind: str) -> RTCRtpCapabilities | None:
        """What can be received, the most optimistic view."""
        return video_capabilities() if kind == "video" else super().getCapabilities(kind)

    @property
    def core(self) -> ReceiverCore | None:
        """The core that runs this receiver; None before it starts and where aiortc's own serves."""
        return self._driver.core if self._driver else None

    def configure(self, sender: CallRtpSender, emit: EventSink) -> None:
        """Set what the connection decides: called once, before the receiver starts."""
        self._emit, self._sender = emit, sender

    def play_with(self, pictures: Iterable[CallRtpReceiver]) -> None:
        """Name the video receivers whose pictures go with this receiver's sound; none to begin with."""
        self._goes_with = tuple(receiver._av_sync for receiver in pictures)
        if isinstance(self._track, CallRemoteStreamTrack):
            self._track.on_taken = self._tell_pictures

    async def receive(self, parameters: RTCRtpReceiveParameters) -> None:
        """Start receiving what was negotiated; a later call only follows to another source."""
        codecs = negotiated_codecs(parameters.codecs)
        ssrc = parameters.encodings[0].ssrc if parameters.encodings else None
        if self._driver is not None:
            if ssrc is not None and ssrc != self._driver.core.remote_ssrc:
                self._register(parameters)
                flexfec = negotiated_flexfec(parameters.codecs, ssrc=self.flexfec_ssrc)
                self._driver.core.set_source(ssrc, flexfec=flexfec)
        elif self._kind != "video" or not codecs or self._is_stock:
            self._is_stock = True
            if self._audio_times is None and parameters.codecs:
                self._audio_times = AudioTimes(clock_rate=parameters.codecs[0].clockRate)
            await super().receive(parameters)
        else:
            settings = self._core_settings(parameters, codecs=codecs, remote_ssrc=ssrc)
            self._driver = ReceiverDriver(
                core=self._open_core(settings),
                track=self._track,
                send=lambda data: self.transport._send_rtp(data),
                emit=self._emit,
                sender_core=lambda: self._sender.core if self._sender else None,
                av_sync=self._av_sync,
                remb=_remb_source(settings, parameters),
            )
            self._register(parameters)
            self.runs_core = True

    async def stop(self) -> None:
        """Stop for good; the track ends."""
        if self._driver is None:
            await super().stop()
        elif self.runs_core:
            self.runs_core = False
            self.transport._unregister_rtp_receiver(self)
            await self._driver.stop()

    async def getStats(self) -> RTCStatsReport:
        """Statistics under W3C's names."""
        if self._driver is None:
            return await super().getStats()
        entries = inbound_stats(
            self, core=self._driver.core, implementation=self._driver.implementation
        )
        return stats_report(entries, self.transport)

    def getSynchronizationSources(self) -> list[RTCRtpSynchronizationSource]:
        """The source heard from in the last 10 seconds."""
        if self._driver is None:
            return super().getSynchronizationSources()
        ssrc, heard_us = self._driver.core.remote_ssrc, self._driver.heard_us
        if ssrc is None or heard_us is None or now_us() - heard_us > SOURCE_AGE_US:
            return []
        age = datetime.timedelta(microseconds=now_us() - heard_us)
        heard = datetime.datetime.now(datetime.UTC) - age
        return [RTCRtpSynchronizationSource(source=ssrc, timestamp=heard)]

    def capture_wall_us(self, frame: Any) -> int | None:
        """When a frame of this receiver's track was captured, by its sender's clock since 1900."""
        if self._driver is not None:
            return self._driver.capture_wall_us(frame.pts)
        # aiortc counts an audio frame's pts from the first timestamp it handed to the decoder.
        origin = self._RTCRtpReceiver__timestamp_mapper._origin  # type: ignore[attr-defined]
        if self._audio_times is None or origin is None or frame.pts is None:
            return None
        return self._audio_times.capture_wall_us(origin + frame.pts)

    def handle_rtp_data(self, data: bytes, *, arrival_us: int) -> None:
        """Take a media packet; one that comes while the receiver is disabled is discarded."""
        if self._driver is not None and self._enabled:
            self._driver.handle_rtp(data, arrival_us=arrival_us)

    def handle_rtcp_message(self, message: RtcpMessage) -> None:
        """Take a sender's report or goodbye."""
        if self._driver is None:
            return
        if isinstance(message, Bye) and self._driver.core.remote_ssrc in message.ssrcs:
            self._driver.end_track()
        self._driver.core.handle_rtcp(message, now_us=now_us())

    def count_malformed_rtcp(self, packets: int) -> None:
        """Note unreadable reports."""
        if self._driver is not None:
            self._driver.core.counters.malformedRtcp += packets

    async def _handle_rtcp_packet(self, packet: AnyRtcpPacket) -> None:
        if self.runs_core:
            return
        if self._audio_times is not None and isinstance(packet, RtcpSrPacket):
            self._audio_times.sender_report(packet)
        await super()._handle_rtcp_packet(packet)

    def _register(self, parameters: RTCRtpReceiveParameters) -> None:
        self.transport._register_rtp_receiver(self, parameters)
        if self.flexfec_ssrc is not None:
            cast(CallDtlsTransport, self.transport).route_source(self.flexfec_ssrc, self)

    def _core_settings(
        self,
        parameters: RTCRtpReceiveParameters,
        *,
        codecs: tuple[NegotiatedCodec, ...],
        remote_ssrc: int | None,
    ) -> ReceiverSettings:
        return ReceiverSettings(
            ssrc=self._rtcp_ssrc,
            codecs=codecs,
            extensions=negotiated_extensions(parameters),
            remote_ssrc=remote_ssrc,
            flexfec=negotiated_flexfec(parameters.codecs, ssrc=self.flexfec_ssrc),
            red=negotiated_red(parameters.codecs),
            resilience=self._sender.resilience if self._sender else ResilienceSettings(),
            decode_reports=has_agreed(DECODE_FEEDBACK, parameters.codecs),
        )

    def _open_core(self, settings: ReceiverSettings) -> ReceiverCore:
        path = None
        if TRANSPORT_CC in settings.extensions:
            path = cast(CallDtlsTransport, self.transport).open_receive_path(ssrc=settings.ssrc)
        return ReceiverCore(settings=settings, rng=random.Random(), now_us=now_us(), path=path)

    def _tell_pictures(self, frame: Any) -> None:
        captured_us = self.capture_wall_us(frame) if self._goes_with else None
        if captured_us is None:
            return
        length_us = frame.samples * 1_000_000 // frame.sample_rate
        for av_sync in self._goes_with:
            av_sync.handle_sound(captured_us=captured_us, length_us=length_us, now_us=now_us())

    def _handle_disconnect(self) -> None:
        if self._driver is None:
            super()._handle_disconnect()
        else:
            self._driver.end_track()

    def _set_rtcp_ssrc(self, ssrc: int) -> None:
        super()._set_rtcp_ssrc(ssrc)
        self._rtcp_ssrc = ssrc


def _remb_source(
    settings: ReceiverSettings, parameters: RTCRtpReceiveParameters
) -> RembSource | None:
    """None where nothing is to be estimated for the sender, or where it does so itself."""
    if TRANSPORT_CC in settings.extensions or not has_agreed(REMB_FEEDBACK, parameters.codecs):
        return None
    return RembSource(ssrc=settings.ssrc, extensions=settings.extensions)
