"""Samples of a connection to telemetry rows of ten seconds: differences of counters, spread evenly.

Time in the call is the sum of the steps between samples, so a clock that jumps or a laptop that
sleeps moves no interval: the step across a jump is left out and counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..schema import INTERVAL_US, Value, empty_row
from .reports import Stream, playout_offset_us, video_streams
from .rows import Bin, fill_row, sent_pictures
from .samples import Sample

# Ours: rtcstats clients report every 1 to 10 s, throttled tabs every minute.
MAX_STEP_US = 60_000_000
# Ours: less than half an interval seen is not called one.
MIN_COVERED_US = INTERVAL_US // 2
# Ours: no camera or codec is faster; a counter that grows by more was not counting.
MAX_FRAMES_PER_S = 1_000
# Ours: times counted for a stream can run a little ahead of the clock, encoders with threads more.
MAX_BUSY_RATIO = 64
FRAME_COUNTERS = {"frames_encoded", "frames_decoded"}


@dataclass(slots=True, kw_only=True)
class Connection:
    """One connection of a dump on its way to rows; feed it samples in their order."""

    call_id: str
    source: str
    counts: Counter[str]
    had_video: bool = False
    _last_time_us: int | None = None
    _last: dict[str, Stream] = field(default_factory=dict)
    _elapsed_us: int = 0
    _bin: Bin | None = None

    def feed(self, sample: Sample) -> Iterator[dict[str, Value]]:
        """Take a sample; yields the rows of the intervals that it ends."""
        streams = {s.name: s for s in video_streams(sample.reports, self.counts)}
        self.had_video |= bool(streams)
        step_us = self._step_us(sample.time_us)
        if step_us:
            offset_us = playout_offset_us(sample.reports)
            growths = self._growths(streams, step_us)
            yield from self._spread(streams, growths, step_us, sample.time_us, offset_us)
        self._last_time_us = sample.time_us
        self._last = streams

    def close(self) -> Iterator[dict[str, Value]]:
        """The row of the interval that is still open, if enough of it was seen."""
        if self._bin:
            yield from self._row(self._bin)
        self._bin = None

    def _step_us(self, time_us: int) -> int:
        """Time since the last sample, 0 where that cannot be told."""
        if self._last_time_us is None:
            return 0
        step_us = time_us - self._last_time_us
        if step_us < 0:
            self.counts["clock_backwards"] += 1
        elif step_us > MAX_STEP_US:
            self.counts["gaps"] += 1
        return step_us if 0 < step_us <= MAX_STEP_US else 0

    def _growths(self, streams: dict[str, Stream], step_us: int) -> dict[str, dict[str, float]]:
        """By how much each stream's counters grew; none for a stream whose counters were reset."""
        growths = {}
        for name, stream in streams.items():
            before = self._last.get(name)
            growth = _growth(before, stream) if before else {}
            back = {counter for counter, value in growth.items() if value < 0}
            if back:
                self.counts["counter_resets"] += 1
                # A stream begun anew; a counter alone is one that its browser corrects.
                lost = set(growth) if back & FRAME_COUNTERS else back
                growth = {name: value for name, value in growth.items() if name not in lost}
            if not _is_plausible(growth, step_us):
                self.counts["counter_jumps"] += 1
                growth = {}
            growths[name] = growth
        return growths

    def _spread(
        self,
        streams: dict[str, Stream],
        growths: dict[str, dict[str, float]],
        step_us: int,
        time_us: int,
        offset_us: float | None,
    ) -> Iterator[dict[str, Value]]:
        """Share the step out among the intervals that it lies in."""
        pictures = sent_pictures(streams.values(), growths, step_us=step_us)
        begin_us, end_us = self._elapsed_us, self._elapsed_us + step_us
        self._elapsed_us = end_us
        while begin_us < end_us:
            index = begin_us // INTERVAL_US
            if self._bin and self._bin.index != index:
                yield from self.close()
            if self._bin is None:
                self._bin = Bin(index=index, start_us=time_us - (end_us - begin_us))
            until_us = min(end_us, (index + 1) * INTERVAL_US)
            part_us = until_us - begin_us
            for name, stream in streams.items():
                self._bin.add(stream, growths[name], part_us=part_us, step_us=step_us)
            self._bin.add_pictures(pictures, part_us=part_us, step_us=step_us)
            self._bin.add_offset(offset_us)
            self._bin.covered_us += part_us
            begin_us = until_us

    def _row(self, done: Bin) -> Iterator[dict[str, Value]]:
        if done.covered_us < MIN_COVERED_US:
            self.counts["intervals_too_short"] += 1
            return
        row = empty_row()
        row.update(
            call_id=self.call_id,
            side="a",
            interval_index=done.index,
            time_us=max(0, done.start_us),
            source=self.source,
        )
        if fill_row(row, done):
            self.counts["rows_without_encode_time"] += row["encode_p50_us"] is None
            yield row
        else:
            self.counts["intervals_without_video"] += 1


def _growth(before: Stream, now: Stream) -> dict[str, float]:
    """Differences of what both have."""
    return {
        name: value - before.counters[name]
        for name, value in now.counters.items()
        if name in before.counters
    }


def _is_plausible(growth: dict[str, float], step_us: int) -> bool:
    """Whether so much can happen within the step."""
    frames = math.ceil(step_us * MAX_FRAMES_PER_S / 1_000_000)
    return all(
        value <= (MAX_BUSY_RATIO * step_us if name.endswith("_us") else frames)
        for name, value in growth.items()
    )
