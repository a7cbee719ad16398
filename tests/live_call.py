"""What the tests of live calls share: drawn tracks, signalling without a wire, and waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame, VideoFrame

from codecpilot.codecs.pictures import frame_from_picture, new_picture, picture_from_frame
from codecpilot.codecs.types import Picture
from codecpilot.rtc.connection import CallPeerConnection, CallSettings

T = TypeVar("T")

# No server outside this machine is asked for an address.
ALONE = RTCConfiguration(iceServers=[])
CLOCK_HZ = 90_000
AUDIO_HZ = 48_000
AUDIO_SAMPLES = 960


def draw(index: int, *, width: int, height: int) -> Picture:
    """A smooth pattern that moves by several pixels a picture; neither black nor still anywhere."""
    picture = new_picture(width, height)
    across = 110 + 40 * np.sin((np.arange(width) + 5 * index) / 19)
    down = 40 * np.sin((np.arange(height) - 3 * index) / 13)
    picture.y[...] = (across + down[:, np.newaxis]).astype(np.uint8)
    picture.u[...] = 128 + int(40 * np.sin(index / 15))
    return picture


class DrawnTrack(MediaStreamTrack):
    """Video of draw() in real time; a reader that comes late skips pictures. The size may change."""

    kind = "video"

    def __init__(self, *, width: int = 320, height: int = 180, fps: int = 30) -> None:
        super().__init__()
        self.size = (width, height)
        self.fps = fps
        self.given = 0
        self._started_s: float | None = None
        self._index = -1

    async def recv(self) -> VideoFrame:
        if self.readyState != "live":
            raise MediaStreamError
        now_s = time.monotonic()
        if self._started_s is None:
            self._started_s = now_s
        self._index = max(self._index + 1, int((now_s - self._started_s) * self.fps))
        await asyncio.sleep(max(0.0, self._started_s + self._index / self.fps - now_s))
        width, height = self.size
        self.given += 1
        return frame_from_picture(
            draw(self._index, width=width, height=height),
            pts=self._index * CLOCK_HZ // self.fps,
            time_base=Fraction(1, CLOCK_HZ),
        )


class ToneTrack(MediaStreamTrack):
    """A tone of 440 Hz in real time, 20 ms a frame."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._started_s: float | None = None
        self._index = 0

    async def recv(self) -> AudioFrame:
        now_s = time.monotonic()
        if self._started_s is None:
            self._started_s = now_s
        due_s = self._started_s + self._index * AUDIO_SAMPLES / AUDIO_HZ
        await asyncio.sleep(max(0.0, due_s - now_s))
        at = self._index * AUDIO_SAMPLES
        wave = np.sin(2 * np.pi * 440 / AUDIO_HZ * np.arange(at, at + AUDIO_SAMPLES))
        frame = AudioFrame.from_ndarray(
            (8000 * wave).astype(np.int16).reshape(1, -1), format="s16", layout="mono"
        )
        frame.sample_rate, frame.pts, frame.time_base = AUDIO_HZ, at, Fraction(1, AUDIO_HZ)
        self._index += 1
        return frame


class Viewer:
    """Reads the video track that a connection announces, or the track given."""

    def __init__(self, pc: RTCPeerConnection, track: MediaStreamTrack | None = None) -> None:
        self.count = 0
        self.ended = False
        self.frame: VideoFrame | None = None
        self.sizes: list[tuple[int, int]] = []
        self._task: asyncio.Task[None] | None = None
        if track is not None:
            self._watch(track)
        else:
            pc.on("track", self._watch)

    @property
    def size(self) -> tuple[int, int] | None:
        """Of the picture that came last."""
        return self.sizes[-1] if self.sizes else None

    async def sees_moving_pictures(self) -> None:
        """Fails unless the picture has many shades (none is black, then) and changes."""
        first = await eventually(lambda: self.frame, "a picture is seen")
        luma = _luma(first)
        assert luma.std() > 10, "a single colour is seen"

        def differs() -> bool:
            now = _luma(self.frame)
            return now.shape != luma.shape or np.abs(now - luma).mean() > 0.5

        await eventually(differs, "the picture changes", within_s=3)

    def _watch(self, track: MediaStreamTrack) -> None:
        if track.kind == "video" and self._task is None:
            self._task = asyncio.ensure_future(self._read(track))

    async def _read(self, track: MediaStreamTrack) -> None:
        try:
            while True:
                frame: Any = await track.recv()
                self.count += 1
                self.frame = frame
                if self.size != (frame.width, frame.height):
                    self.sizes.append((frame.width, frame.height))
        except MediaStreamError:
            self.ended = True


class Listener:
    """Reads the audio track that a connection announces."""

    def __init__(self, pc: RTCPeerConnection) -> None:
        self.loudest = 0
        self._task: asyncio.Task[None] | None = None
        pc.on("track", self._listen)

    def _listen(self, track: MediaStreamTrack) -> None:
        if track.kind == "audio":
            self._task = asyncio.ensure_future(self._read(track))

    async def _read(self, track: MediaStreamTrack) -> None:
        with suppress(MediaStreamError):
            while True:
                frame = await track.recv()
                assert isinstance(frame, AudioFrame)
                self.loudest = max(self.loudest, int(np.abs(frame.to_ndarray()).max()))


def _luma(frame: VideoFrame | None) -> Any:
    assert frame is not None
    return picture_from_frame(frame, capture_us=0).y.astype(int)


def call(**settings: Any) -> CallPeerConnection:
    """One of ours. Without adaptation, unless it is asked for: a test depends on no other load."""
    return CallPeerConnection(ALONE, settings=CallSettings(**{"adaptation": False, **settings}))


async def negotiate(offerer: RTCPeerConnection, answerer: RTCPeerConnection) -> None:
    """One round of offer and answer."""
    await offerer.setLocalDescription(await offerer.createOffer())
    await answerer.setRemoteDescription(offerer.localDescription)
    await answerer.setLocalDescription(await answerer.createAnswer())
    await offerer.setRemoteDescription(answerer.localDescription)


async def eventually(
    condition: Callable[[], Awaitable[T] | T], what: str, *, within_s: float = 10
) -> T:
    """The condition's value once it is true; fails when that takes too long."""
    deadline_s = time.monotonic() + within_s
    while True:
        value = condition()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        assert time.monotonic() < deadline_s, f"not within {within_s} s: {what}"
        await asyncio.sleep(0.05)


async def stats(pc: RTCPeerConnection, kind: str, *, media: str = "video") -> Any:
    """The first statistics entry of a type (and media kind where it has one), else None."""
    for entry in (await pc.getStats()).values():
        if entry.type == kind and getattr(entry, "kind", media) == media:
            return entry
    return None


@asynccontextmanager
async def in_call(*pcs: Any) -> AsyncIterator[tuple[Any, ...]]:
    """The connections, closed in the end."""
    try:
        yield pcs
    finally:
        await asyncio.gather(*(pc.close() for pc in pcs))
