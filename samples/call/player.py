"""What a peer does with what it receives: shows it, times it, and hands it on to page and recorder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import cv2
from aiortc import MediaStreamTrack, RTCRtpReceiver
from aiortc.mediastreams import MediaStreamError

from ...rtc.connection import CallPeerConnection
from .clocks import wall_us
from .figures import ShownLog

# Ours: at this width a picture of the page costs about 2 ms of CPU, and figures tell the true size.
PAGE_WIDTH_PX = 640
JPEG_QUALITY = 80
# Ours: drawing takes at most a fourth of the time, so on a busy machine the page gives way to the call.
DRAW_REST = 4
NEVER_US = 1 << 62
US_PER_S = 1_000_000

Sink = Callable[[bytes], None]


class Player:
    """Consumes the tracks of one peer connection. A picture counts as shown when it is fetched.

    on_jpeg gets each shown picture while watched is True and the picture before it was taken;
    on_sound gets each packet of sound with its capture time.
    """

    def __init__(
        self,
        pc: CallPeerConnection,
        *,
        log: ShownLog,
        on_jpeg: Sink,
        on_sound: Callable[[Any, int | None], None],
    ) -> None:
        self.watched = False
        self.has_pictures = asyncio.Event()
        self.has_timed_sound = asyncio.Event()
        self._pc = pc
        self._log = log
        self._on_jpeg = on_jpeg
        self._on_sound = on_sound
        self._tasks: list[asyncio.Task[None]] = []
        self._drawing: asyncio.Task[None] | None = None
        self._draw_again_us = 0

    def play(self, receiver: RTCRtpReceiver, track: MediaStreamTrack) -> None:
        """Consume this track from now on."""
        consume = self._show if track.kind == "video" else self._hear
        self._tasks.append(asyncio.create_task(consume(receiver, track)))

    async def stop(self) -> None:
        """Consume no more."""
        tasks = [*self._tasks, *([self._drawing] if self._drawing else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _show(self, receiver: RTCRtpReceiver, track: MediaStreamTrack) -> None:
        while (frame := await _next(track)) is not None:
            now_us = wall_us()
            capture_us = self._pc.capture_wall_us(receiver, frame)
            self._log.width, self._log.height = frame.width, frame.height
            self._log.shown(now_us if capture_us is None else capture_us, now_us=now_us)
            self.has_pictures.set()
            if self.watched and now_us >= self._draw_again_us:
                self._draw_again_us = NEVER_US
                self._drawing = asyncio.create_task(self._draw(frame))

    async def _hear(self, receiver: RTCRtpReceiver, track: MediaStreamTrack) -> None:
        while (frame := await _next(track)) is not None:
            capture_us = self._pc.capture_wall_us(receiver, frame)
            if capture_us is not None:
                length_us = frame.samples * US_PER_S // frame.sample_rate
                self._log.audio.arrived(wall_us(), capture_us=capture_us, length_us=length_us)
                self.has_timed_sound.set()
            self._on_sound(frame, capture_us)

    async def _draw(self, frame: Any) -> None:
        began_us = wall_us()
        self._on_jpeg(await asyncio.to_thread(jpeg, frame))
        took_us = wall_us() - began_us
        self._draw_again_us = began_us + took_us * DRAW_REST


def jpeg(frame: Any) -> bytes:
    """The frame as a JPEG of at most PAGE_WIDTH_PX."""
    width = min(frame.width, PAGE_WIDTH_PX) & ~1
    height = max(2, frame.height * width // frame.width & ~1)
    pixels = frame.reformat(width=width, height=height, format="bgr24").to_ndarray()
    return cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()


async def _next(track: MediaStreamTrack) -> Any:
    try:
        return await track.recv()
    except MediaStreamError:
        return None
