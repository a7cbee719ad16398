"""What a device makes of a call: frame times, heat, throttling, drops, and the preset that the call steps to.

Works on all sides at once, one interval after the other. Times are those of the reference machine, divided by
the speed that is left: model x unit x heat x power saving x what other work leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from .calls import INTERVAL_S, Bools, Floats, Ints, Sides
from .costs import AV1_PRESETS, H264, CostTable
from .devices import Generator, SimulatedDevice

FIRST_PRESET = AV1_PRESETS.index("default")
"""Where a call begins, and the best that it goes back to."""
SCALES = (1.0, 0.75, 0.5)
"""Steps down in size once the cheapest preset is too slow, as libwebrtc's VideoStreamAdapter takes them."""
SMALLER_LOAD, LARGER_LOAD = 0.85, 0.42
"""Mean encode time over the time a picture has, to step down and up in size: libwebrtc's CpuOveruseOptions."""
CHEAPER_LOAD_P95, DEARER_LOAD_P95 = 0.9, 0.25
"""The 95th percentile of the same, to step down and up in presets: pictures are not to queue, and the next
preset up costs up to three times as much (ours)."""
FIRST_LOAD = 0.6
"""What a call begins with leaves room: samples/verdict.py's share for an encoder in real time."""
APP_CORES = 0.12
"""Cores of the reference machine that capture, sound, packets and drawing take: ours, `codecpilot call`."""
JITTER = 0.22
"""Standard deviation of the logarithm of a frame's encode time within an interval (ours, talking heads)."""
PEER_DROPS_SEEN = 0.25
"""Share of dropped pictures from which on the other end sees freezes."""
Z95 = 1.645


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What the sides that are still in their call measured: `side` says which, the rest has one element each."""

    index: int
    side: Ints
    preset: Ints
    scale: Floats
    encode_p50_us: Floats
    encode_p95_us: Floats
    encode_cpu_us: Floats
    decode_p50_us: Floats
    decode_p95_us: Floats
    captured: Ints
    dropped: Ints
    late: Ints
    freezes: Ints
    freeze_us: Ints
    is_cpu_limited: Bools
    av_offset_us: Floats
    contention: Floats
    frequency_ratio: Floats
    battery_ratio: Floats


class FleetPhysics:
    """The state of every side, and a step by one interval."""

    def __init__(
        self,
        sides: Sides,
        *,
        devices: Sequence[SimulatedDevice],
        costs: CostTable,
        rng: Generator,
    ) -> None:
        """costs are the reference machine's."""
        self._sides, self._rng = sides, rng
        self._encode, self._decode = _cost_arrays(costs)
        self._speed = _of(devices, sides.device, "speed") * sides.unit
        self._av1_factor = _of(devices, sides.device, "av1_factor")
        self._hardware = _of(devices, sides.device, "decodes_av1") > 0
        self._sustained = _of(devices, sides.device, "sustained_ratio")
        self._heat_gain = _of(devices, sides.device, "heat")
        self._warming = 1 - np.exp(-INTERVAL_S / _of(devices, sides.device, "warming_s"))
        self._big_cores = np.array([each.kind.big_cores for each in devices])[sides.device]
        self._heat = rng.uniform(0.1, 0.4, len(sides)) + sides.ambient
        self._contention = sides.background_ratio.copy()
        self._scale = np.zeros(len(sides), dtype=np.int64)
        self._battery = sides.battery_ratio.copy()
        self._step = np.where(sides.is_av1, self._first_step(), len(AV1_PRESETS))

    def intervals(self) -> Iterator[Interval]:
        """Step through the calls to the end of the longest."""
        for index in range(int(self._sides.intervals.max(initial=0))):
            yield self._interval(index)

    def _interval(self, index: int) -> Interval:
        live = np.flatnonzero(self._sides.intervals > index)
        rng, sides = self._rng, self._sides
        work = self._work(live)
        contention, spread = work.contention, JITTER + 0.5 * work.contention
        period_us = 1e6 / sides.fps[live]
        load = work.encode_us / period_us
        captured = rng.binomial((sides.fps[live] * INTERVAL_S).astype(np.int64), 0.998)
        dropped = rng.binomial(captured, _missed(load, spread))
        late_share = np.minimum(
            1, _missed(work.decode_us / period_us, spread) + sides.late_ratio[live]
        )
        freezes = self._freezes(live, dropped / np.maximum(captured, 1), late_share)
        measured = work.encode_us * rng.lognormal(0, 0.03, len(live))
        median = measured * np.exp(-(spread**2) / 2)
        decode_median = work.decode_us * np.exp(-(spread**2) / 2)
        interval = Interval(
            index=index,
            side=live,
            preset=self._step[live].copy(),
            scale=np.array(SCALES)[self._scale[live]],
            encode_p50_us=median,
            encode_p95_us=median * np.exp(Z95 * spread),
            encode_cpu_us=measured * (1 - contention),
            decode_p50_us=decode_median,
            decode_p95_us=decode_median * np.exp(Z95 * spread),
            captured=captured,
            dropped=dropped,
            late=rng.binomial(captured, late_share),
            freezes=freezes,
            freeze_us=(freezes * rng.uniform(0.25e6, 0.9e6, len(live))).astype(np.int64),
            is_cpu_limited=self._scale[live] > 0,
            av_offset_us=20_000 * rng.lognormal(0, 0.5, len(live)) + np.minimum(measured, 3e5),
            contention=contention,
            frequency_ratio=work.throttle,
            battery_ratio=self._battery[live].copy(),
        )
        self._warm(live, np.minimum(work.busy_cores / self._big_cores[live], 1))
        self._adapt(live, load, load * np.exp(Z95 * spread - spread**2 / 2))
        return interval

    def _work(self, live: Ints) -> _Work:
        throttle = self._throttle(live)
        contention = self._background(live)
        speed = self._speed[live] * throttle * (1 - contention)
        encode = self._encode_us(live, self._pixels(live)) / speed
        decode = self._decode_us(live) / speed
        busy_cores = (encode + decode) / (1e6 / self._sides.fps[live]) + APP_CORES / speed
        # More work than there are cores: everything waits for everything.
        crowding = np.maximum(1.0, busy_cores / (0.9 * self._big_cores[live]))
        return _Work(
            throttle=throttle,
            contention=contention,
            encode_us=encode * crowding,
            decode_us=decode * crowding,
            busy_cores=busy_cores,
        )

    def _first_step(self) -> Ints:
        """The best preset that fits as the call begins: a call finds it within its first seconds."""
        sides = self._sides
        work = self._encode[: FIRST_PRESET + 1, :, None]
        pixels = sides.width * sides.height
        times = (work[:, 0] + work[:, 1] * pixels / 1000) * self._av1_factor * sides.complexity
        left = self._speed * (1 - self._contention)
        load = times / left * sides.fps / 1e6
        return np.asarray(np.maximum((load < FIRST_LOAD).sum(axis=0) - 1, 0))

    def _throttle(self, live: Ints) -> Floats:
        """Speed left: by heat, down to the sustained ratio; and by a battery that is nearly empty."""
        hot = np.clip((self._heat[live] - 1) / 0.2, 0, 1)
        ratio = 1 - (1 - self._sustained[live]) * hot
        is_saving = (self._battery[live] < 0.2) & ~self._sides.on_power[live]
        return np.asarray(ratio * np.where(is_saving, self._sides.saver_ratio[live], 1.0))

    def _background(self, live: Ints) -> Floats:
        """Other work comes and goes around the call's own mean, with a memory of half a minute."""
        mean = self._sides.background_ratio[live]
        drawn = np.clip(mean * self._rng.lognormal(-0.08, 0.4, len(live)), 0, 0.85)
        self._contention[live] += 0.3 * (drawn - self._contention[live])
        return self._contention[live].copy()

    def _pixels(self, live: Ints) -> Floats:
        scale = np.array(SCALES)[self._scale[live]]
        return np.asarray(self._sides.width[live] * self._sides.height[live] * scale**2)

    def _encode_us(self, live: Ints, pixels: Floats) -> Floats:
        fixed, ns_px = self._encode[self._step[live]].T
        factor = np.where(self._sides.is_av1[live], self._av1_factor[live], 1.0)
        return np.asarray((fixed + ns_px * pixels / 1000) * factor * self._sides.complexity[live])

    def _decode_us(self, live: Ints) -> Floats:
        """The other end's pictures, at the size that it sends now."""
        peer = live ^ 1
        fixed, ns_px = self._decode[self._step[peer]].T
        time_us = fixed + ns_px * self._pixels(peer) / 1000
        is_eased = self._hardware[live] & self._sides.is_av1[peer]
        return np.asarray(np.where(is_eased, 0.2 * time_us, time_us))

    def _freezes(self, live: Ints, dropped: Floats, late: Floats) -> Ints:
        """By the network, by what the other end drops, and by a decoder that does not keep up."""
        of_all = np.zeros(len(self._sides))
        of_all[live] = np.maximum(0, dropped - PEER_DROPS_SEEN)
        mean = self._sides.network_freezes[live] + 8 * of_all[live ^ 1]
        return np.asarray(self._rng.poisson(mean + 8 * np.maximum(0, late - 0.15)))

    def _warm(self, live: Ints, busy: Floats) -> None:
        settles = self._heat_gain[live] * busy**0.5 + self._sides.ambient[live]
        self._heat[live] += self._warming[live] * (settles - self._heat[live])
        self._battery[live] -= np.where(self._sides.on_power[live], 0, 0.0004 + 0.0006 * busy)
        np.clip(self._battery, 0, 1, out=self._battery)

    def _adapt(self, live: Ints, load: Floats, load_p95: Floats) -> None:
        """A step a call and interval: presets first, then sizes; back up in the other order."""
        is_av1, step, scale = self._sides.is_av1[live], self._step[live], self._scale[live]
        has_cheaper = is_av1 & (step > 0)
        cheaper = has_cheaper & (load_p95 > CHEAPER_LOAD_P95)
        smaller = ~has_cheaper & (load > SMALLER_LOAD) & (scale < len(SCALES) - 1)
        larger = (load < LARGER_LOAD) & (scale > 0)
        dearer = is_av1 & (scale == 0) & (step < FIRST_PRESET) & (load_p95 < DEARER_LOAD_P95)
        self._step[live] = step - cheaper + dearer
        self._scale[live] = scale + smaller - larger


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What an interval asks of the sides that are in a call, one value a side.

    throttle is the part of the speed that heat and saving leave, contention the part that others take;
    encode_us and decode_us are means of a picture, busy_cores how many cores it all would fill.
    """

    throttle: Floats
    contention: Floats
    encode_us: Floats
    decode_us: Floats
    busy_cores: Floats


def _missed(load: Floats, spread: Floats) -> Floats:
    """Share of pictures dropped when those that come while one is encoded are lost, but the last.

    Frame times are log-normal with mean `load` periods: the surplus over one period, of the time a
    frame takes in all, max(1, t).
    """
    with np.errstate(divide="ignore"):
        above = (np.log(load) + spread**2 / 2) / spread
    surplus = load * ndtr(above) - ndtr(above - spread)
    return np.asarray(np.clip(surplus / (1 + surplus), 0, 1))


def _of(devices: Sequence[SimulatedDevice], index: Ints, name: str) -> Floats:
    return np.array([float(getattr(each, name)) for each in devices])[index]


def _cost_arrays(costs: CostTable) -> tuple[Floats, Floats]:
    """(fixed us, ns a pixel) of each AV1 preset and, last, H.264; of encoding and of decoding."""
    rows = [costs[name] for name in (*AV1_PRESETS, H264)]
    encode = np.array([(row.encode_fixed_us, row.encode_ns_px) for row in rows])
    return encode, np.array([(row.decode_fixed_us, row.decode_ns_px) for row in rows])
