"""Encodes in real time under whatever limit the process is put, and says what came of it.

A process of its own, a JSON line in for each line out: `python -m tests.bench.limited_encoder [[1280,720]]`. Its
pictures are drawn before it says {"ready": true}; each request {"width", "height", "fps", "preset"} is a probe and
a run.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from codecpilot.codecs.types import Picture
from codecpilot.rtc.percentile import percentile
from codecpilot.samples.eligibility.probe import probe_slowness
from codecpilot.samples.scene import Scene
from codecpilot.samples.speed import encoded

# As many as the rule of outcomes wants, each long enough for a 95th percentile.
INTERVALS, INTERVAL_S = 3, 2
PICTURES = 24


def main() -> None:
    """Serve requests until the input ends."""
    drawn = {tuple(size): _pictures(*size) for size in json.loads(sys.argv[1])}
    # What is loaded and made once is now.
    probe_slowness()
    _tell({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        pictures = drawn[request["width"], request["height"]]
        begun, cpu_begun = time.monotonic(), time.process_time()
        probe = probe_slowness()
        probed, cpu_probed = time.monotonic(), time.process_time()
        intervals = run(pictures, fps=request["fps"], preset=request["preset"])
        _tell(
            {
                "probe": probe,
                "probe_cpu_ratio": (cpu_probed - cpu_begun) / (probed - begun),
                "intervals": intervals,
                "cpu_s": time.process_time() - cpu_probed,
            }
        )


def run(pictures: Sequence[Picture], *, fps: int, preset: str) -> list[dict[str, Any]]:
    """What each interval came to: pictures captured and encoded, and the time from one's start to its result."""
    camera = _Camera(pictures, fps=fps)
    took_us: list[list[int]] = [[] for _ in range(INTERVALS)]
    with closing(encoded(camera, preset=preset)) as frames:
        for _ in frames:
            spent_us = (time.monotonic_ns() - camera.given_ns) // 1000
            took_us[camera.index // (fps * INTERVAL_S)].append(spent_us)
    return [
        {
            "captured": fps * INTERVAL_S,
            "encoded": len(times_us),
            "p50_us": percentile(times_us, 50),
            "p95_us": percentile(times_us, 95),
        }
        for times_us in took_us
    ]


class _Camera:
    """Pictures in real time; of those that came while nobody took them the newest is left."""

    def __init__(self, pictures: Sequence[Picture], *, fps: int) -> None:
        self._pictures, self._fps = pictures, fps
        self.index = -1
        self.given_ns = 0

    def __iter__(self) -> Iterator[Picture]:
        start_ns = time.monotonic_ns()
        while True:
            newest = (time.monotonic_ns() - start_ns) * self._fps // 1_000_000_000
            self.index = max(self.index + 1, newest)
            if self.index >= INTERVALS * INTERVAL_S * self._fps:
                return
            due_ns = start_ns + self.index * 1_000_000_000 // self._fps
            time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            self.given_ns = time.monotonic_ns()
            yield self._pictures[self.index % len(self._pictures)]


def _pictures(width: int, height: int) -> list[Picture]:
    """Back and forth, so that what moves moves as steadily throughout."""
    scene = Scene(width=width, height=height)
    forth = [scene.picture(index) for index in range(PICTURES)]
    return [*forth, *forth[-2:0:-1]]


def _tell(values: dict[str, Any]) -> None:
    print(json.dumps(values), flush=True)


if __name__ == "__main__":
    main()
