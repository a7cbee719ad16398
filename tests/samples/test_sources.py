"""Sources: an absolute schedule in virtual time, and tracks that never queue up."""

from __future__ import annotations

import asyncio
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from aiortc.mediastreams import MediaStreamError
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.sound import frame_from_samples
from codecpilot.samples.sources import (
    MAX_BEHIND_TICKS,
    START_DELAY_US,
    Delivery,
    RealTimer,
    Schedule,
    SourceTrack,
    StartTime,
    run_device,
    run_paced,
)

FPS = Fraction(30)
RATES = st.sampled_from(
    [Fraction(30), Fraction(25), Fraction(30_000, 1001), Fraction(1), Fraction(120)]
)


class VirtualTimer:
    """Time that moves when somebody waits, and by what making a frame costs."""

    def __init__(self, *, cost_us: dict[int, int] | None = None, end_us: int = 10_000_000) -> None:
        self.time_us = 0
        self.cost_us = cost_us or {}
        self.end_us = end_us

    def now_us(self) -> int:
        return self.time_us

    def wait_until(self, due_us: int) -> bool:
        self.time_us = max(self.time_us, due_us)
        return self.time_us < self.end_us

    def cancel(self) -> None:
        self.end_us = 0

    def make(self, tick: int) -> Any:
        self.time_us += self.cost_us.get(tick, 1_000)
        return tick


def paced(timer: VirtualTimer, *, rate: Fraction = FPS) -> list[tuple[int, Delivery]]:
    """(when, what) of each delivery."""
    delivered: list[tuple[int, Delivery]] = []
    run_paced(
        timer.make,
        rate=rate,
        start=StartTime(),
        timer=timer,
        deliver=lambda delivery: delivered.append((timer.time_us, delivery)),
    )
    return delivered


@given(RATES, st.integers(0, 10**12), st.integers(0, 10**6))
def test_due_times_and_ticks_agree_without_drift(rate: Fraction, start_us: int, tick: int) -> None:
    schedule = Schedule(start_us=start_us, rate=rate)
    due_us = schedule.due_us(tick)
    assert 0 <= tick / rate * 1_000_000 - (due_us - start_us) < 1
    assert schedule.tick_at(due_us) in (tick - 1, tick)
    assert schedule.tick_at(due_us + 1) == tick


def test_ten_seconds_are_exactly_three_hundred_pictures_on_time() -> None:
    timer = VirtualTimer(end_us=10_000_000 + START_DELAY_US)
    delivered = paced(timer)
    schedule = Schedule(start_us=START_DELAY_US, rate=FPS)
    assert [delivery.frame for _, delivery in delivered] == list(range(300))
    assert [when_us for when_us, _ in delivered] == [schedule.due_us(tick) for tick in range(300)]


def test_one_slow_picture_is_late_and_the_next_ones_are_on_time_again() -> None:
    delivered = paced(VirtualTimer(cost_us={10: 80_000}, end_us=1_000_000))
    schedule = Schedule(start_us=START_DELAY_US, rate=FPS)
    lateness_us = [when_us - schedule.due_us(delivery.frame) for when_us, delivery in delivered]
    assert [tick for tick, late_us in enumerate(lateness_us) if late_us] == [10, 11]
    assert max(lateness_us) < 80_000
    assert [delivery.frame for _, delivery in delivered[:20]] == list(range(20))


def test_after_a_long_stall_the_newest_picture_follows_and_every_tick_is_told() -> None:
    delivered = paced(VirtualTimer(cost_us={10: 500_000}, end_us=2_000_000))
    frames = [delivery.frame for _, delivery in delivered]
    told = [due_us for _, delivery in delivered for due_us in delivery.due_us]
    schedule = Schedule(start_us=START_DELAY_US, rate=FPS)
    assert frames[:11] == list(range(11))
    assert frames[11] - 10 > MAX_BEHIND_TICKS
    assert frames[11:] == list(range(frames[11], frames[-1] + 1))
    assert told == [schedule.due_us(tick) for tick in range(frames[-1] + 1)]


def test_a_source_slower_than_its_rate_stays_with_the_present() -> None:
    timer = VirtualTimer(cost_us=dict.fromkeys(range(1000), 50_000), end_us=3_000_000)
    delivered = paced(timer)
    schedule = Schedule(start_us=START_DELAY_US, rate=FPS)
    behind_us = [when_us - schedule.due_us(delivery.frame) for when_us, delivery in delivered]
    assert 50 <= len(delivered) <= 62
    assert max(behind_us) <= (MAX_BEHIND_TICKS + 2) * 33_334


def test_picture_and_sound_share_their_zero() -> None:
    start = StartTime()
    assert start.get_us(1_000) == 1_000 + START_DELAY_US
    assert start.get_us(9_000_000) == 1_000 + START_DELAY_US


def test_a_device_is_read_until_it_is_cancelled() -> None:
    timer = VirtualTimer(end_us=100_000)
    delivered: list[Delivery] = []

    def read() -> Any:
        timer.time_us += 40_000
        return timer.time_us

    run_device(read, timer=timer, deliver=delivered.append)
    assert [d.frame for d in delivered] == [40_000, 80_000, 120_000]
    assert delivered[0].due_us == (40_000,)


class ManualSource:
    """A track's thread body that delivers when told."""

    def __init__(self) -> None:
        self.deliver: Any = None
        self.started = threading.Event()
        self.ended = threading.Event()
        self.error: LocalError | None = None

    def __call__(self, deliver: Any) -> None:
        self.deliver = deliver
        self.started.set()
        self.ended.wait(10)
        if self.error is not None:
            raise self.error


async def begun(source: ManualSource, track: SourceTrack) -> asyncio.Task[Any]:
    first = asyncio.create_task(track.recv())
    await asyncio.to_thread(source.started.wait, 10)
    return first


async def test_a_track_gives_the_newest_picture_and_drops_older_ones() -> None:
    source, due = ManualSource(), list[int]()
    track = SourceTrack("video", run=source, timer=RealTimer(), on_due=due.append)
    first = await begun(source, track)
    source.deliver(Delivery(frame="one", due_us=(1,)))
    assert await asyncio.wait_for(first, 10) == "one"
    for number, frame in ((2, "two"), (3, "three"), (4, "four")):
        source.deliver(Delivery(frame=frame, due_us=(number,)))
    while len(due) < 4:
        await asyncio.sleep(0)
    assert await asyncio.wait_for(track.recv(), 10) == "four"
    assert due == [1, 2, 3, 4]
    source.ended.set()
    track.stop()
    track.join(10)


async def test_a_stopped_track_ends_its_reader_and_its_thread() -> None:
    source = ManualSource()
    timer = RealTimer()
    track = SourceTrack("video", run=source, timer=timer)
    waiting = await begun(source, track)
    track.stop()
    source.ended.set()
    with pytest.raises(MediaStreamError):
        await asyncio.wait_for(waiting, 10)
    with pytest.raises(MediaStreamError):
        await track.recv()
    assert not timer.wait_until(1 << 60)
    track.join(10)


async def test_a_source_that_fails_ends_its_track_and_keeps_the_reason() -> None:
    source = ManualSource()
    source.error = LocalError("clip.mp4 gives no more")
    track = SourceTrack("video", run=source, timer=RealTimer())
    waiting = await begun(source, track)
    source.ended.set()
    with pytest.raises(MediaStreamError):
        await asyncio.wait_for(waiting, 10)
    assert track.readyState == "ended"
    assert track.error is source.error


def test_a_real_timer_waits_no_less_than_asked() -> None:
    timer = RealTimer()
    due_us = timer.now_us() + 3_000
    assert timer.wait_until(due_us)
    assert timer.now_us() >= due_us


def test_sound_frames_carry_their_samples_and_time() -> None:
    samples = np.arange(960, dtype=np.int16)
    frame = frame_from_samples(samples, rate_hz=48_000, pts=1920)
    assert (frame.samples, frame.sample_rate, frame.pts) == (960, 48_000, 1920)
    assert frame.time == pytest.approx(0.04)
    assert np.array_equal(frame.to_ndarray()[0], samples)
    with pytest.raises(LocalError, match="mono int16"):
        frame_from_samples(samples.astype(np.float32), rate_hz=48_000, pts=0)  # type: ignore[arg-type]
