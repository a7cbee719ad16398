"""A probe of this machine's speed: a few hundred milliseconds of encoding the project's own scene."""

from __future__ import annotations

from statistics import median

from ...codecs.types import Codec
from ...eligibility.fleet.costs import DEFAULT_COSTS
from ..scene import Scene
from ..speed import measure

WIDTH, HEIGHT = 640, 360
PICTURES = 20
PRESETS = ("ultralow", "default")


def probe_slowness() -> float:
    """CPU time of encoding here over the reference machine's: the median over presets."""
    scene = Scene(width=WIDTH, height=HEIGHT)
    pictures = [scene.picture(index) for index in range(PICTURES)]
    ratios = []
    for preset in PRESETS:
        cost = DEFAULT_COSTS[preset]
        reference_us = cost.encode_fixed_us + cost.encode_ns_px * WIDTH * HEIGHT / 1000
        took = measure(Codec.AV1, preset=preset, pictures=pictures)
        ratios.append(took.encode_ms * 1000 / reference_us)
    return float(median(ratios))
