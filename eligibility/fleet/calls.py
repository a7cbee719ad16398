"""Draws the calls of a fleet: who calls whom, what is asked of each side, and the circumstances nobody chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .devices import GIB, Generator, SimulatedDevice

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

INTERVAL_S = 10
MAX_INTERVALS = 60
MEDIAN_CALL_S, CALL_SPREAD = 120, 0.9
"""Ours: calls of a messenger, most of them short; those of more than ten minutes count as ten."""
SIZES = ((480, 270), (640, 360), (960, 540), (1280, 720), (1920, 1080))
SIZE_SHARES = (0.10, 0.45, 0.20, 0.23, 0.02)
SMALL_SIZE_SHARES = (0.20, 0.55, 0.15, 0.10, 0.00)
"""Of applications that ask for less where memory is little: what is asked hangs on the device, loosely."""
LITTLE_MEMORY_BYTES = 3 * GIB
RATES = (15.0, 24.0, 30.0)
RATE_SHARES = (0.10, 0.10, 0.80)
AV1_SHARE = 0.6
"""Sides that send AV1, by lot: an experiment, as outcomes of devices that a rule had chosen say little of others."""
DAYS = 90
FIRST_US = 1_748_736_000_000_000
"""2025-06-01, UTC."""
DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """One element a call side; sides 2n and 2n + 1 are the two ends of call n."""

    device: Ints
    is_av1: Bools
    width: Ints
    height: Ints
    fps: Floats
    intervals: Ints
    start_us: Ints
    on_power: Bools
    battery_ratio: Floats
    complexity: Floats
    """Encode cost of what this call shows, against the clip that costs were measured with."""
    unit: Floats
    """Speed of this very unit in this call against its model: chip, age, case, apps."""
    background_ratio: Floats
    ambient: Floats
    """Heat from outside: sun, pockets, charging; 1 is where a device slows down."""
    saver_ratio: Floats
    """Speed left in power-saving mode, below a fifth of the battery."""
    network_freezes: Floats
    """Freezes an interval that the network causes, mean; no device can help them."""
    late_ratio: Floats
    """Pictures late by the network."""

    def __len__(self) -> int:
        return len(self.device)


def draw_calls(count: int, *, devices: Sequence[SimulatedDevice], rng: Generator) -> Sides:
    """So many calls between devices of the fleet, over DAYS days."""
    sides = 2 * count
    popularity = np.array([each.popularity for each in devices])
    device = rng.choice(len(devices), size=sides, p=popularity / popularity.sum())
    width, height = _sizes(device, devices, rng)
    seconds = rng.lognormal(np.log(MEDIAN_CALL_S), CALL_SPREAD, count)
    intervals = np.clip(np.ceil(seconds / INTERVAL_S), 1, MAX_INTERVALS).astype(np.int64)
    start_us = np.sort(FIRST_US + (rng.random(count) * DAYS * DAY_US).astype(np.int64))
    has_battery = np.array([each.kind.has_battery for each in devices])[device]
    on_power = ~has_battery | (rng.random(sides) < 0.25)
    background = np.array([each.background_ratio for each in devices])[device]
    return Sides(
        device=device.astype(np.int64),
        is_av1=rng.random(sides) < AV1_SHARE,
        width=width,
        height=height,
        fps=rng.choice(RATES, size=sides, p=RATE_SHARES),
        intervals=np.repeat(intervals, 2),
        start_us=np.repeat(start_us, 2),
        on_power=on_power,
        battery_ratio=np.where(on_power, 1.0, rng.uniform(0.05, 1.0, sides)),
        # Over clips the cost of a picture spreads by a factor of 1.5 (docs/presets.md).
        complexity=rng.lognormal(0, 0.15, sides),
        unit=rng.lognormal(0, 0.07, sides),
        background_ratio=np.clip(background * rng.lognormal(0, 0.6, sides), 0.005, 0.7),
        ambient=rng.normal(0, 0.12, sides) + 0.15 * (on_power & has_battery),
        saver_ratio=np.where(rng.random(sides) < 0.5, 0.65, 1.0),
        network_freezes=rng.gamma(0.15, 0.15, sides),
        late_ratio=rng.beta(0.4, 100, sides),
    )


def _sizes(device: Ints, devices: Sequence[SimulatedDevice], rng: Generator) -> tuple[Ints, Ints]:
    """Half of the calls come from applications that look at the memory."""
    is_little = np.array([(each.memory_bytes or 0) < LITTLE_MEMORY_BYTES for each in devices])
    is_small = is_little[device] & (rng.random(len(device)) < 0.5)
    place = np.where(
        is_small,
        rng.choice(len(SIZES), size=len(device), p=SMALL_SIZE_SHARES),
        rng.choice(len(SIZES), size=len(device), p=SIZE_SHARES),
    )
    sizes = np.array(SIZES, dtype=np.int64)[place]
    return sizes[:, 0], sizes[:, 1]
