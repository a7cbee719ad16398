"""The tracks of one peer for a source named on the command line: its pictures and its sound."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from ...codecs.errors import CodecpilotError, LocalError
from ...codecs.media import open_audio, open_camera, open_video, probe
from ...codecs.pictures import frame_from_picture
from ...codecs.sound import frame_from_samples
from ...codecs.types import Picture
from ..scene import BLOCK_SAMPLES, SAMPLE_RATE_HZ, Scene, tone
from ..sources import (
    Delivery,
    MakeFrame,
    RealTimer,
    Schedule,
    SourceTrack,
    StartTime,
    run_device,
    run_paced,
)
from .clocks import wall_from_monotonic_us
from .options import Source

if TYPE_CHECKING:
    from av import AudioFrame, VideoFrame

VIDEO_CLOCK_HZ = 90_000
VIDEO_TIME_BASE = Fraction(1, VIDEO_CLOCK_HZ)
SOUND_RATE = Fraction(SAMPLE_RATE_HZ, BLOCK_SAMPLES)
# Ours: sound must not lose packets to a busy event loop as pictures may; this is 200 ms.
SOUND_DEPTH = 10
# Ours: a file that was not read in time goes on by this many pictures or blocks at once. It catches up
# where reading is faster than real time, and plays late, not ever more seldom, where it is slower.
MAX_STEP = 3
# A thread ends with the picture it is at; only a camera that gives none takes longer.
THREAD_END_S = 2.0

Deliver = Callable[[Delivery], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTracks:
    """A peer's two tracks, and the zero and rate of its pictures (a camera's are about these)."""

    pictures: SourceTrack
    sound: SourceTrack
    start: StartTime
    fps: Fraction

    @property
    def error(self) -> CodecpilotError | None:
        """What ended a track."""
        return self.pictures.error or self.sound.error

    def next_due_us(self, wall_us: int) -> int:
        """The wall time of the first picture that is due then or later."""
        start_us = wall_from_monotonic_us(self.start.get_us(0))
        schedule = Schedule(start_us=start_us, rate=self.fps)
        return schedule.due_us(schedule.tick_at(wall_us) + 1)

    def close(self) -> None:
        """End both tracks and their threads."""
        for track in (self.pictures, self.sound):
            track.stop()
        for track in (self.pictures, self.sound):
            track.join(THREAD_END_S)


def check_source(source: Source, *, width: int, height: int, fps: Fraction) -> None:
    """Raises LocalError when the file or camera cannot be opened or gives no picture."""
    if source.kind == "file":
        open_video(source.place, size=(width, height), fps=fps).close()
    elif source.kind == "camera":
        open_camera(int(source.place), size=(width, height), fps=fps).close()


def open_tracks(
    source: Source,
    *,
    side: str,
    width: int,
    height: int,
    fps: Fraction,
    seed: int,
    on_due: Callable[[int], None],
) -> SourceTracks:
    """Tracks for side "A" or "B"; nothing is drawn or read before they are consumed.

    A camera can be opened once, so side B sends the drawn scene then. The sides' scenes differ.
    on_due is told each picture's due time on the monotonic clock.
    """
    start, timer = StartTime(), RealTimer()
    if side != "A":
        seed += 1
        source = Source(kind="synthetic") if source.kind == "camera" else source
    size = (width, height)
    if source.kind == "camera":
        run = _camera_run(int(source.place), size=size, fps=fps, timer=timer, start=start)
    else:
        run = _paced_run(
            lambda: _picture_maker(source, size=size, fps=fps, seed=seed),
            rate=fps,
            start=start,
            timer=timer,
        )
    sound_timer = RealTimer()
    sound_run = _paced_run(
        lambda: _sound_maker(source, seed=seed), rate=SOUND_RATE, start=start, timer=sound_timer
    )
    return SourceTracks(
        pictures=SourceTrack("video", run=run, timer=timer, on_due=on_due),
        sound=SourceTrack("audio", run=sound_run, timer=sound_timer, depth=SOUND_DEPTH),
        start=start,
        fps=fps,
    )


def _paced_run(
    open_maker: Callable[[], MakeFrame], *, rate: Fraction, start: StartTime, timer: RealTimer
) -> Callable[[Deliver], None]:
    def run(deliver: Deliver) -> None:
        run_paced(open_maker(), rate=rate, start=start, timer=timer, deliver=deliver)

    return run


def _camera_run(
    number: int, *, size: tuple[int, int], fps: Fraction, timer: RealTimer, start: StartTime
) -> Callable[[Deliver], None]:
    def run(deliver: Deliver) -> None:
        pictures = open_camera(number, size=size, fps=fps)
        start.get_us(timer.now_us())

        def read() -> VideoFrame:
            picture = next(pictures, None)
            if picture is None:
                raise LocalError(f"camera {number} gives no more pictures")
            pts = picture.capture_us * VIDEO_CLOCK_HZ // 1_000_000
            return frame_from_picture(picture, pts=pts, time_base=VIDEO_TIME_BASE)

        run_device(read, timer=timer, deliver=deliver)

    return run


def _picture_maker(
    source: Source, *, size: tuple[int, int], fps: Fraction, seed: int
) -> Callable[[int], VideoFrame]:
    picture_at: Callable[[int], Picture]
    if source.kind == "file":
        pictures = open_video(source.place, size=size, fps=fps, loop=True)
        picture_at = _InOrder(pictures, name=source.place).at
    else:
        picture_at = Scene(width=size[0], height=size[1], fps=fps, seed=seed).picture

    def make(tick: int) -> VideoFrame:
        pts = int(tick * VIDEO_CLOCK_HZ / fps)
        return frame_from_picture(picture_at(tick), pts=pts, time_base=VIDEO_TIME_BASE)

    return make


def _sound_maker(source: Source, *, seed: int) -> Callable[[int], AudioFrame]:
    blocks = None
    if source.kind == "file" and probe(source.place).has_audio:
        with contextlib.suppress(LocalError):  # Sound that cannot be decoded is as none.
            blocks = _InOrder(open_audio(source.place, loop=True), name=source.place)

    def make(tick: int) -> AudioFrame:
        samples = tone(tick, seed=seed) if blocks is None else blocks.at(tick).samples
        return frame_from_samples(samples, rate_hz=SAMPLE_RATE_HZ, pts=tick * BLOCK_SAMPLES)

    return make


class _InOrder(Generic[T]):
    """What an iterator gives, by number; the numbers asked for only grow.

    It goes on by MAX_STEP items at most, so it may be behind the number that is asked for.
    """

    def __init__(self, items: Iterator[T], *, name: str) -> None:
        self._items, self._name = items, name
        self._given = 0

    def at(self, number: int) -> T:
        """Item number `number` or, too far behind it, a nearer one; those before it are skipped."""
        item = None
        for _ in range(min(number + 1 - self._given, MAX_STEP)):
            item = next(self._items, None)
            self._given += 1
            if item is None:
                break
        if item is None:
            raise LocalError(f"{self._name} gives no more")
        return item
