"""aiortc's RTCRtpSender over a SenderCore."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Set
from dataclasses import replace
from typing import Any, cast

from aiortc.codecs import is_rtx
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpparameters import RTCRtpCapabilities, RTCRtpSendParameters
from aiortc.rtcrtpsender import RTCRtpSender
from aiortc.rtp import AnyRtcpPacket
from aiortc.stats import RTCStatsReport
from aiortc.utils import random32

from ...codecs.errors import LocalError
from ...codecs.factory import open_encoder, prepare_encoder
from ...codecs.pictures import picture_from_frame
from ...codecs.types import Codec, EncodedFrame
from ...ratecontrol.frame_controller import FrameController
from ..drain import drain_sender
from ..encode_loop import Skipped
from ..encoder_session import EncodeJob, EncoderSession
from ..outgoing_stream import StreamIdentity
from ..rtp.extensions import TRANSPORT_CC
from ..rtp.rtcp import ReceiverEstimatedMaximumBitrate, RtcpMessage
from ..send_path import SendPath
from ..sender import SenderCore, SenderSettings
from .capabilities import (
    REMB_FEEDBACK,
    has_agreed,
    negotiated_codecs,
    negotiated_extensions,
    video_capabilities,
)
from .capture_times import CaptureTimes
from .clock import now_us, wall_offset_us
from .dtls_transport import CallDtlsTransport
from .endpoint import CoreEndpoint
from .fec_formats import is_fec
from .pump import Pump
from .settings import CallSettings
from .stats import outbound_stats, stats_report

logger = logging.getLogger("codecpilot.rtc")

# aiortc looks for a track that was replaced by none as often.
NO_TRACK_POLL_S = 0.02

EventSink = Callable[[str, object], None]


class CallRtpSender(RTCRtpSender, CoreEndpoint):
    """Sends video through a SenderCore; audio, and codecs that only aiortc knows, through aiortc."""

    def __init__(self, trackOrKind: Any, transport: RTCDtlsTransport) -> None:
        super().__init__(trackOrKind, transport)
        self._settings = CallSettings()
        self._emit: EventSink = lambda name, value: None
        self._driver: _SenderDriver | None = None
        # Whichever implementation starts the stream keeps it.
        self._is_stock = False
        self._honours_remb = False
        self.flexfec_ssrc = random32()
        """Where FlexFEC for the stream comes from, should it be agreed on."""
        self.announces_flexfec = False
        """Whether our description names that source too."""

    @classmethod
    def getCapabilities(cls, kind: str) -> RTCRtpCapabilities:
        """What can be sent, the most optimistic view."""
        return video_capabilities() if kind == "video" else super().getCapabilities(kind)

    @property
    def core(self) -> SenderCore | None:
        """The core that runs this sender; None before it starts and where aiortc's own serves."""
        return self._driver.core if self._driver else None

    def configure(self, settings: CallSettings, emit: EventSink) -> None:
        """Set what the connection decides: called once, before the sender starts."""
        self._settings, self._emit = settings, emit
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
            )
            self._honours_remb = has_agreed(REMB_FEEDBACK, parameters.codecs)
            transport = cast(CallDtlsTransport, self.transport)
            path = transport.open_send_path(has_feedback=TRANSPORT_CC in settings.extensions)
            self.transport._register_rtp_sender(self, parameters)
            self._driver = _SenderDriver(self, settings, path, self._settings, self._emit)
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
        core, implementation = self._driver.core, self._driver.implementation
        entries = outbound_stats(self, core, implementation, now_us=now_us())
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

    def count_malformed_rtcp(self, packets: int) -> None:
        """Note unreadable feedback."""
        if self._driver is not None:
            self._driver.core.counters.malformedRtcp += packets

    async def _handle_rtcp_packet(self, packet: AnyRtcpPacket) -> None:
        if not self.runs_core:
            await super()._handle_rtcp_packet(packet)

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

    def _identity(self, mid: str) -> StreamIdentity:
        # RFC 3550 5.1: numbers begin at random; below 2^15 so that SRTP's index does not wrap at once.
        rng = random.SystemRandom()
        return StreamIdentity(
            ssrc=self._ssrc,
            rtx_ssrc=self._rtx_ssrc,
            mid=mid or None,
            first_sequence=rng.randrange(1 << 15),
            first_rtx_sequence=rng.randrange(1 << 15),
            first_timestamp=rng.randrange(1 << 32),
        )


class _SenderDriver(Pump):
    """Reads the track, drains the core, and runs its jobs in a worker thread."""

    def __init__(
        self,
        sender: CallRtpSender,
        settings: SenderSettings,
        path: SendPath,
        call: CallSettings,
        emit: EventSink,
    ) -> None:
        self._sender = sender
        self._emit = emit
        self.core = SenderCore(
            settings=settings,
            rng=random.Random(),
            now_us=now_us(),
            wall_offset_us=wall_offset_us(),
            path=path,
        )
        self._session = EncoderSession(
            open_encoder=lambda codec, width, height: open_encoder(
                codec, width=width, height=height, threads=call.encoder_threads
            ),
            controller=FrameController(),
        )
        self._refused: str | None = None
        super().__init__(name="video-encoder")
        self._capture = asyncio.ensure_future(self._read_track())

    @property
    def implementation(self) -> str:
        """W3C encoderImplementation."""
        return self._session.implementation

    def keep_to(self, codecs: Set[Codec]) -> None:
        """Leave a codec that the peer takes no longer for one that it does, of those at hand."""
        negotiated = [c.codec for c in self.core.settings.codecs]
        known = [codec for codec in negotiated if codec in codecs]
        if known and known != negotiated:
            used = self.core.codec.codec
            self.core.set_codec(used if used in known else known[0])

    async def drain(self) -> int | None:
        """Start a due job and send what is ready."""
        output = drain_sender(self.core, now_us=now_us())
        if output.job is not None:
            future = self._loop.run_in_executor(self._worker, self._run_job, output.job)
            future.add_done_callback(self._job_done)
        for data in (*output.rtp, *output.rtcp):
            await self._sender.transport._send_rtp(data)
        return output.wake_us

    def close_codec(self) -> None:
        """Free the encoder."""
        self._session.close()

    async def stop(self) -> None:
        """End the track, capture, encoding and sending; say goodbye."""
        self._capture.cancel()
        await asyncio.gather(self._capture, return_exceptions=True)
        if self._sender.track is not None:
            self._sender.track.stop()
        await super().stop()
        try:
            await self._sender.transport._send_rtp(self.core.bye())
        except ConnectionError:
            logger.debug("the transport was closed before the stream said goodbye")

    async def _read_track(self) -> None:
        times = CaptureTimes()
        track: MediaStreamTrack | None = None
        while True:
            current: MediaStreamTrack | None = self._sender.track
            if current is None or current.readyState == "ended":
                await asyncio.sleep(NO_TRACK_POLL_S)
                continue
            if track is not current:
                track, times = current, times.follow()
            frame = await _next_frame(track)
            # It may have been replaced in the meantime.
            if frame is not None and track is self._sender.track:
                self._captured(frame, times)

    def _captured(self, frame: Any, times: CaptureTimes) -> None:
        # A sender that is paused still reads its track, so that frames don't gather there.
        if not self._sender._enabled:
            return
        capture_us = times.map(frame.pts, frame.time_base, now_us=now_us())
        try:
            picture = picture_from_frame(frame, capture_us=capture_us)
        except LocalError as error:
            self._refuse(error)
            return
        self.core.handle_picture(picture)
        self.wake()

    def _run_job(self, job: EncodeJob) -> EncodedFrame | Skipped | None:
        try:
            return self._session.run(job)
        except LocalError as error:
            self._refuse(error)
            return None

    def _job_done(self, future: asyncio.Future[EncodedFrame | Skipped | None]) -> None:
        if future.cancelled():
            return
        if future.exception() is not None:
            logger.error("an encoder failed", exc_info=future.exception())
        result = None if future.exception() is not None else future.result()
        self.core.handle_encoded(result, now_us=now_us())
        if isinstance(result, EncodedFrame):
            self._emit("frameencoded", result)
        self.wake()

    def _refuse(self, error: LocalError) -> None:
        """Log what a picture was refused for, once for each reason in a row."""
        if str(error) != self._refused:
            logger.warning("a picture was not sent: %s", error)
            self._refused = str(error)


async def _next_frame(track: MediaStreamTrack) -> Any:
    """A track's next frame; None when it has ended, which one that fails does here."""
    try:
        return await track.recv()
    except MediaStreamError:
        logger.debug("a track has ended")
    except Exception:
        # An application's own track may raise anything; the call outlives it.
        logger.exception("a track failed")
    track.stop()
    return None
