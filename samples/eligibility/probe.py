"""A probe of this machine's speed: a few hundred milliseconds of encoding the project's own scene."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import cycle

from ...codecs.types import Picture
from ...eligibility.fleet.costs import DEFAULT_COSTS, CostTable
from ...eligibility.models.own_costs import encode_us
from ..scene import Scene
from ..speed import encoded

WIDTH, HEIGHT = 640, 360
PICTURES = 20
PRESETS = ("ultralow", "default")
# Ours, for each preset: longer than the 100 ms in which containers count their share of the processor.
PROBE_NS = 150_000_000
# Ours: on a device that is that slow there are no more than so many frames a preset.
LEAST_FRAMES = 4


def probe_slowness() -> float:
    """Time that encoding takes here over the reference machine's, the mean over presets.

    As the clock has it, so that other work and limits of the processor count as they will in the call.
    """
    scene = Scene(width=WIDTH, height=HEIGHT)
    forth = [scene.picture(index) for index in range(PICTURES)]
    # Back and forth, so that it moves as steadily throughout.
    pictures = [*forth, *forth[-2:0:-1]]
    return _slowness({preset: _mean_us(preset, pictures) for preset in PRESETS})


def calibrated_slowness(costs: CostTable) -> float:
    """What the probe finds where nothing hinders it, by this machine's own costs (doctor --calibrate)."""
    return _slowness({preset: encode_us(costs[preset], WIDTH * HEIGHT) for preset in PRESETS})


def _slowness(times_us: Mapping[str, float]) -> float:
    ratios = [us / encode_us(DEFAULT_COSTS[name], WIDTH * HEIGHT) for name, us in times_us.items()]
    return sum(ratios) / len(ratios)


def _mean_us(preset: str, pictures: Sequence[Picture]) -> float:
    """The mean, all between frames included: a limit of the processor stops here and there for long."""
    count = 0
    with closing(encoded(cycle(pictures), preset=preset)) as frames:
        next(frames)  # A key frame takes longer.
        start_ns = time.monotonic_ns()
        while (took_ns := time.monotonic_ns() - start_ns) < PROBE_NS or count < LEAST_FRAMES:
            next(frames)
            count += 1
    return took_ns / 1000 / count
