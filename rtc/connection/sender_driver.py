"""Runs a SenderCore in real time: reads the track and encodes in a worker thread."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Set
from typing import Any

from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from aiortc.rtcrtpsender import RTCRtpSender

from ...codecs.errors import LocalError
from ...codecs.factory import open_encoder
from ...codecs.pictures import picture_from_frame
from ...codecs.types import Codec, EncodedFrame
from ...ratecontrol.frame_controller import FrameController
from ..adaptation.decisions import AdaptationDecision
from ..adaptation.health import DeviceHealth
from ..drain import drain_sender
from ..encode_loop import Skipped
from ..encoder_session import EncodeJob, EncoderSession
from ..send_path import SendPath
from ..sender import SenderCore, SenderSettings
from .capture_times import CaptureTimes
from .clock import now_us, wall_offset_us
from .devices import Devices
from .pump import EventSink, Pump, outlived

logger = logging.getLogger("codecpilot.rtc")

# aiortc looks for a track that was replaced by none as often.
NO_TRACK_POLL_S = 0.02


class SenderDriver(Pump):
    """Reads the track, drains the core, and runs its jobs in a worker thread."""

    def __init__(
        self,
        sender: RTCRtpSender,
        *,
        settings: SenderSettings,
        path: SendPath,
        encoder_threads: int,
        emit: EventSink,
        devices: Devices,
    ) -> None:
        self._sender = sender
        self._emit = outlived(emit)
        self.core = SenderCore(
            settings=settings,
            rng=random.Random(),
            now_us=now_us(),
            wall_offset_us=wall_offset_us(),
            path=path,
        )
        self._session = EncoderSession(
            open_encoder=lambda codec, width, height: open_encoder(
                codec, width=width, height=height, threads=encoder_threads
            ),
            controller=FrameController(),
        )
        self.adaptation: AdaptationDecision | None = None
        self.adaptations = 0
        self._refused: str | None = None
        self._devices = devices
        if settings.adaptation.enabled:
            devices.subscribe(self._take_health)
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
        for decision in self.core.poll_decisions():
            self._emit("resiliencedecision", decision)
        for adaptation in self.core.poll_adaptations():
            self.adaptation = adaptation
            self.adaptations += 1
            self._emit("adaptation", adaptation)
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
        self._devices.unsubscribe(self._take_health)
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
            self.core.handle_picture(picture_from_frame(frame, capture_us=capture_us))
        except LocalError as error:
            self._refuse(error)
        except Exception:
            # Whatever it was: the pictures behind this one are still to be sent.
            logger.exception("a picture was dropped that caused this; the call goes on")
        self.wake()

    def _take_health(self, health: DeviceHealth) -> None:
        self.core.handle_health(health, now_us=now_us())

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
