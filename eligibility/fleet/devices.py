"""Draws the device models of a simulated fleet: what they say of themselves, and how fast they really are.

Year, memory and operating system are tied to speed only through the class of device, and loosely: cheap
models are sold with processors that are years old, and with much memory. Models that share a processor
differ in cooling, in what runs in the background and in how far they slow down when hot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .priors import SocPrior

Generator = np.random.Generator
GIB = 1 << 30
LAST_YEAR = 2025


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass:
    """A kind of device. Speeds are of one thread against the reference machine, in 2020."""

    name: str
    share: float
    """Of the models."""
    speed: float
    av1_factor: float
    """AV1's cost over H.264's there, against the reference: its SIMD suits some cores better."""
    cores: tuple[int, ...]
    big_cores: float
    """That encode and decode can use at this speed."""
    memory_gib: tuple[int, ...]
    sustained_ratio: tuple[float, float]
    """Speed left when hot, 10th and 90th percentile over models."""
    soc_age_years: float
    """By how much a model is younger than its processor, mean."""
    systems: tuple[str, ...]
    has_battery: bool = True


# Ours. Speeds: by Android's media_codecs_performance files of ten phones, mid-range and better of 2015 to 2023,
# their software AVC encoders run at 0.14 to 0.32 of libx264 superfast on the reference machine (priors.soc_prior,
# 1280x720). Below the mid-range there are no such files: in-order cores (Cortex-A53, A55) at 1.4 to 2 GHz have a
# third to a half of that. Laptops and desktops are cores of the reference's kind at other clocks.
CLASSES = (
    DeviceClass(
        name="entry",
        share=0.30,
        speed=0.075,
        av1_factor=1.25,
        cores=(4, 8, 8),
        big_cores=2.5,
        memory_gib=(1, 2, 2, 3, 4, 4, 6, 8),
        sustained_ratio=(0.65, 0.97),
        soc_age_years=2.0,
        systems=("android",),
    ),
    DeviceClass(
        name="middle",
        share=0.30,
        speed=0.17,
        av1_factor=1.08,
        cores=(8,),
        big_cores=2.0,
        memory_gib=(2, 3, 4, 4, 6, 8, 8, 12),
        sustained_ratio=(0.5, 0.93),
        soc_age_years=1.2,
        systems=("android",),
    ),
    DeviceClass(
        name="high",
        share=0.20,
        speed=0.30,
        av1_factor=1.0,
        cores=(6, 8, 8, 9),
        big_cores=3.0,
        memory_gib=(3, 4, 4, 6, 6, 8, 8, 12),
        sustained_ratio=(0.4, 0.9),
        soc_age_years=0.6,
        systems=("android", "android", "ios"),
    ),
    DeviceClass(
        name="office",
        share=0.12,
        speed=0.35,
        av1_factor=1.0,
        cores=(2, 4, 4, 8),
        big_cores=2.0,
        memory_gib=(2, 4, 4, 8, 8, 16),
        sustained_ratio=(0.6, 1.0),
        soc_age_years=1.5,
        systems=("windows", "windows", "chromeos", "linux"),
    ),
    DeviceClass(
        name="fast",
        share=0.08,
        speed=0.8,
        av1_factor=0.95,
        cores=(8, 10, 12, 16),
        big_cores=6.0,
        memory_gib=(4, 8, 8, 16, 16, 32),
        sustained_ratio=(0.75, 1.0),
        soc_age_years=0.7,
        systems=("windows", "macos", "macos", "linux"),
        has_battery=False,
    ),
)
SPEED_A_YEAR = 1.12
"""Ours: what one thread of a class gained a year, 2014 to 2025: the ten XML files show a few percent,
benchmarks of plain code 15 to 25."""
SOC_SPREAD, MODEL_SPREAD = 0.30, 0.12
"""Standard deviations of the logarithm: of processors of a class and year (0.25 among the ten XML files, which
are of mid-range and better), and of models with the same one (firmware, clocks, memory)."""
MODELS_A_SOC = 5
"""Ours: Android devices on sale, roughly."""
POPULARITY_POWER, POPULARITY_SHIFT = 1.3, 15
"""Zipf's and Mandelbrot's law of calls over models: the first of 400 has 3 % of the calls, the last 0.04 %."""
IOS_MEMORY_GIB = (1, 2, 2, 3, 3, 4, 4, 6, 8)
"""Fast, and sold with little memory: iPhones of 2014 to 2025."""
BRANDS = (
    "acer",
    "asus",
    "google",
    "hp",
    "honor",
    "lenovo",
    "motorola",
    "oppo",
    "samsung",
    "xiaomi",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Soc:
    """A processor."""

    name: str
    kind: DeviceClass
    year: int
    speed: float
    av1_factor: float
    decodes_av1: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDevice:
    """A model: first what telemetry shows of it (None: it does not tell), then what it hides."""

    brand: str
    model: str
    soc: str | None
    cores: int
    memory_bytes: int | None
    os: str
    os_version: str
    release_year: int | None
    kind: DeviceClass
    speed: float
    av1_factor: float
    decodes_av1: bool
    sustained_ratio: float
    heat: float
    """Where its temperature settles under full load, 1 being where it begins to slow down."""
    warming_s: float
    background_ratio: float
    """Share of the processor that other work takes, mean over its calls."""
    popularity: float


def draw_devices(
    count: int, *, rng: Generator, priors: Sequence[SocPrior] = ()
) -> list[SimulatedDevice]:
    """So many models, over a fifth as many processors; priors are processors of known speed among them."""
    socs = [_soc_of_prior(prior, rng) for prior in priors]
    socs += [_soc(index, rng) for index in range(max(len(CLASSES), count // MODELS_A_SOC))]
    popularity = (rng.permutation(count) + 1.0 + POPULARITY_SHIFT) ** -POPULARITY_POWER
    by_class = {kind.name: [soc for soc in socs if soc.kind is kind] for kind in CLASSES}
    kinds = rng.choice(len(CLASSES), size=count, p=[kind.share for kind in CLASSES])
    devices = []
    for index in range(count):
        candidates = by_class[CLASSES[kinds[index]].name] or socs
        soc = candidates[int(rng.integers(len(candidates)))]
        devices.append(_device(index, soc, popularity=float(popularity[index]), rng=rng))
    return devices


def _soc(index: int, rng: Generator) -> Soc:
    kind = CLASSES[index % len(CLASSES)]
    if index >= len(CLASSES):
        kind = CLASSES[int(rng.choice(len(CLASSES), p=[each.share for each in CLASSES]))]
    year = int(rng.integers(2014, LAST_YEAR + 1))
    speed = kind.speed * SPEED_A_YEAR ** (year - 2020) * rng.lognormal(0, SOC_SPREAD)
    return Soc(
        name=f"sim-{kind.name}-{index}",
        kind=kind,
        year=year,
        speed=float(speed),
        av1_factor=float(kind.av1_factor * rng.lognormal(0, 0.12)),
        decodes_av1=bool(year >= 2021 and kind.name in ("high", "fast") and rng.random() < 0.8),
    )


def _soc_of_prior(prior: SocPrior, rng: Generator) -> Soc:
    """Its class is the one whose speed is nearest; the file does not tell its year."""
    phones = [kind for kind in CLASSES if "android" in kind.systems]
    kind = min(phones, key=lambda each: abs(np.log(each.speed / prior.speed)))
    return Soc(
        name=prior.name,
        kind=kind,
        year=int(rng.integers(2015, 2024)),
        speed=prior.speed,
        av1_factor=float(kind.av1_factor * rng.lognormal(0, 0.12)),
        decodes_av1=prior.decodes_av1,
    )


def _device(index: int, soc: Soc, *, popularity: float, rng: Generator) -> SimulatedDevice:
    kind = soc.kind
    year = min(LAST_YEAR, soc.year + int(rng.poisson(kind.soc_age_years)))
    # A class gets memory by the year, and by what its makers like to print on the box.
    place = (year - 2014) / 11 * 0.5 + rng.random() * 0.5
    system = kind.systems[int(rng.integers(len(kind.systems)))]
    sold = IOS_MEMORY_GIB if system == "ios" else kind.memory_gib
    memory_gib = sold[int(place * 0.999 * len(sold))]
    low, high = kind.sustained_ratio
    return SimulatedDevice(
        brand="apple" if system in ("ios", "macos") else BRANDS[int(rng.integers(len(BRANDS)))],
        model=f"SIM-{index:04d}",
        soc=soc.name if rng.random() < 0.85 else None,
        cores=kind.cores[int(rng.integers(len(kind.cores)))],
        memory_bytes=memory_gib * GIB if rng.random() < 0.95 else None,
        os=system,
        os_version=_os_version(system, year, rng),
        release_year=year if rng.random() < 0.85 else None,
        kind=kind,
        speed=float(soc.speed * rng.lognormal(0, MODEL_SPREAD)),
        av1_factor=soc.av1_factor,
        decodes_av1=soc.decodes_av1,
        sustained_ratio=float(np.clip(rng.normal((low + high) / 2, (high - low) / 2.56), 0.3, 1)),
        heat=float(rng.lognormal(0.25 if kind.has_battery else -0.1, 0.3)),
        warming_s=float(rng.lognormal(np.log(150), 0.4)),
        background_ratio=_background(memory_gib, rng),
        popularity=popularity,
    )


def _background(memory_gib: int, rng: Generator) -> float:
    """Little memory means swapping; some makers' services never rest."""
    mean = 0.05 + 0.10 / memory_gib
    return float(np.clip(mean * rng.lognormal(0, 0.5), 0.01, 0.5))


def _os_version(system: str, year: int, rng: Generator) -> str:
    """What it came with, and up to four years of updates, more for some makers than for others."""
    updates = int(rng.integers(0, 5))
    newest = min(LAST_YEAR, year + updates)
    major = {"android": newest - 2009, "ios": newest - 2007, "macos": newest - 2010}.get(system)
    if major is None:
        major = 10 if system == "windows" and newest < 2021 else 11
    return str(max(major, 5))
