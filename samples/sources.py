"""aiortc tracks over sources of pictures and sound, paced by an absolute schedule.

A thread prepares each picture ahead and hands it over when it is due, so the event loop neither
draws nor decodes. Nothing queues up: a picture that was not fetched before the next one is gone.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from aiortc import MediaStreamTrack
from aiortc.mediastreams import MediaStreamError

from ..codecs.errors import CodecpilotError

if TYPE_CHECKING:
    from av.frame import Frame

US_PER_S = 1_000_000
# Ours: a thread that woke late catches up by at most this many ticks, then goes on with the newest.
MAX_BEHIND_TICKS = 3
START_DELAY_US = 20_000

MakeFrame = Callable[[int], "Frame"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When each picture (or packet of sound) is due: start_us + tick / rate."""

    start_us: int
    rate: Fraction

    def due_us(self, tick: int) -> int:
        """The tick's time, free of accumulated rounding."""
        return self.start_us + int(tick * US_PER_S / self.rate)

    def tick_at(self, now_us: int) -> int:
        """The newest tick that is due."""
        return int((now_us - self.start_us) * self.rate / US_PER_S)

    def tick_after(self, tick: int, *, now_us: int) -> int:
        """What to make next: the following tick, or the newest when too many were missed."""
        newest = self.tick_at(now_us)
        return newest if newest - tick > MAX_BEHIND_TICKS else tick + 1


class StartTime:
    """The common zero of a peer's picture and sound: set when the first of them is wanted."""

    def __init__(self) -> None:
        self._start_us: int | None = None
        self._lock = threading.Lock()

    def get_us(self, now_us: int) -> int:
        """The start; shortly after now for the first who asks."""
        with self._lock:
            if self._start_us is None:
                self._start_us = now_us + START_DELAY_US
            return self._start_us


class Timer(Protocol):
    """A clock that can be waited on."""

    def now_us(self) -> int:
        """Microseconds of a clock that never falls."""
        ...

    def wait_until(self, due_us: int) -> bool:
        """Wait; False when it was cancelled meanwhile."""
        ...

    def cancel(self) -> None:
        """End every wait, now and later."""
        ...


class RealTimer:
    """The monotonic clock."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()

    def now_us(self) -> int:
        """The monotonic clock in microseconds."""
        return time.monotonic_ns() // 1000

    def wait_until(self, due_us: int) -> bool:
        """Sleep until due_us, or until cancel()."""
        while not self._cancelled.is_set():
            left_us = due_us - self.now_us()
            if left_us <= 0:
                return True
            self._cancelled.wait(left_us / US_PER_S)
        return False

    def cancel(self) -> None:
        """Wake whoever waits."""
        self._cancelled.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A frame that was due, with its due time and, before it, those of the frames that were skipped."""

    frame: Frame
    due_us: tuple[int, ...]


def run_paced(
    make: MakeFrame,
    *,
    rate: Fraction,
    start: StartTime,
    timer: Timer,
    deliver: Callable[[Delivery], None],
) -> None:
    """Make and deliver frames on schedule until the timer is cancelled. A thread's body."""
    schedule = Schedule(start_us=start.get_us(timer.now_us()), rate=rate)
    tick, previous = 0, -1
    while True:
        frame = make(tick)
        if not timer.wait_until(schedule.due_us(tick)):
            return
        due_us = tuple(schedule.due_us(missed) for missed in range(previous + 1, tick + 1))
        deliver(Delivery(frame=frame, due_us=due_us))
        previous = tick
        tick = schedule.tick_after(tick, now_us=timer.now_us())


def run_device(
    read: Callable[[], Frame], *, timer: Timer, deliver: Callable[[Delivery], None]
) -> None:
    """Deliver what a device gives, as it gives it, until the timer is cancelled. A thread's body."""
    while timer.wait_until(0):
        frame = read()
        deliver(Delivery(frame=frame, due_us=(timer.now_us(),)))


class SourceTrack(MediaStreamTrack):
    """A track fed by a thread that starts with the first recv().

    run is the thread's body; it gets deliver and returns when the source was stopped. on_due
    is told, on the event loop, each due time in µs of the monotonic clock. depth is how many frames wait
    for recv() before the oldest goes: 1 for pictures.
    """

    def __init__(
        self,
        kind: str,
        *,
        run: Callable[[Callable[[Delivery], None]], None],
        timer: Timer,
        depth: int = 1,
        on_due: Callable[[int], None] = lambda due_us: None,
    ) -> None:
        super().__init__()
        self.kind = kind
        self.error: CodecpilotError | None = None
        self._run = run
        self._timer = timer
        self._on_due = on_due
        self._frames: deque[Frame] = deque(maxlen=depth)
        self._filled = asyncio.Event()
        self._thread: threading.Thread | None = None

    async def recv(self) -> Any:
        """The newest frame, once there is one. Raises MediaStreamError after stop() or a failure."""
        if self._thread is None and self.readyState == "live":
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._feed, args=(loop,), daemon=True)
            self._thread.start()
        while not self._frames and self.readyState == "live":
            self._filled.clear()
            await self._filled.wait()
        if self.readyState != "live":
            raise MediaStreamError
        return self._frames.popleft()

    def stop(self) -> None:
        """End the track and its thread."""
        super().stop()
        self._timer.cancel()
        self._filled.set()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread after stop(): one that still draws when Python exits would abort it."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _feed(self, loop: asyncio.AbstractEventLoop) -> None:
        def deliver(delivery: Delivery) -> None:
            loop.call_soon_threadsafe(self._take, delivery)

        try:
            self._run(deliver)
        except CodecpilotError as error:
            self.error = error
        except RuntimeError:
            if not loop.is_closed():
                raise
        finally:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.stop)

    def _take(self, delivery: Delivery) -> None:
        for due_us in delivery.due_us:
            self._on_due(due_us)
        self._frames.append(delivery.frame)
        self._filled.set()
