"""How the device is doing, read through psutil and Linux's pressure file. Every signal may be missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil

from ..adaptation.health import DeviceHealth

T = TypeVar("T")

# Documentation/accounting/psi.rst of Linux: "some avg10=12.34 …", in percent.
PRESSURE_PATH = Path("/proc/pressure/cpu")
# How Linux' drivers call the sensors of processors.
CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal")
# Ours: what lies outside is a sensor's fault.
TEMPERATURE_RANGE_C = (-40.0, 130.0)


class DeviceMeter:
    """Reads the machine's health; may block for some milliseconds, as ACPI batteries do.

    There is no AV1 hardware to tell of: codecs/ encodes in software alone.
    """

    def __init__(self, *, pressure_path: Path = PRESSURE_PATH) -> None:
        self._pressure_path = pressure_path
        self._cpu_times_s = _optional(_cpu_times_s)

    def read(self, *, now_us: int) -> DeviceHealth:
        """The health now; cpu_ratio is the mean since the reading before."""
        battery_ratio, on_power = _optional(_battery) or (None, None)
        return DeviceHealth(
            time_us=now_us,
            cpu_ratio=self._cpu_ratio(),
            cpu_pressure_ratio=_optional(self._pressure_ratio),
            battery_ratio=battery_ratio,
            on_power=on_power,
            frequency_ratio=_optional(_frequency_ratio),
            temperature_c=_optional(_temperature_c),
            has_hardware_av1=False,
        )

    def _cpu_ratio(self) -> float | None:
        before, self._cpu_times_s = self._cpu_times_s, _optional(_cpu_times_s)
        if before is None or self._cpu_times_s is None:
            return None
        total_s, busy_s = (b - a for a, b in zip(before, self._cpu_times_s, strict=True))
        return _ratio(busy_s / total_s) if total_s > 0 else None

    def _pressure_ratio(self) -> float:
        words = self._pressure_path.read_text(encoding="ascii").split()
        percent = next(word for word in words if word.startswith("avg10=")).partition("=")[2]
        return _ratio(float(percent) / 100)


def _optional(read: Callable[[], T]) -> T | None:
    """What a signal says; None where the machine does not have it.

    psutil raises what its system calls and parsers happen to raise, by platform and version; none of it
    may end a call.
    """
    try:
        return read()
    except Exception:
        return None


def _ratio(value: float) -> float:
    """Clamped to 0..1. Raises ValueError for what is no number."""
    if math.isnan(value):
        raise ValueError(value)
    return min(max(value, 0.0), 1.0)


def _cpu_times_s() -> tuple[float, float]:
    """The time of all processors, and how much of it they were busy."""
    times = psutil.cpu_times()
    # Linux counts guests' time as their host's too; waiting for a disk is idle.
    guests_s = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    total_s = sum(times) - guests_s
    return total_s, total_s - times.idle - getattr(times, "iowait", 0.0)


def _battery() -> tuple[float | None, bool | None]:
    battery = psutil.sensors_battery()
    if battery is None:
        return None, None
    plugged = battery.power_plugged
    return _ratio(battery.percent / 100), None if plugged is None else bool(plugged)


def _frequency_ratio() -> float | None:
    frequency = psutil.cpu_freq()
    if frequency is None or frequency.max <= 0:
        return None
    # Above 1 where the maximum does not count boosts.
    return max(frequency.current / frequency.max, 0.0)


def _temperature_c() -> float | None:
    """The hottest sensor of the processor."""
    low, high = TEMPERATURE_RANGE_C
    sensors = psutil.sensors_temperatures()
    temperatures = [s.current for name in CPU_SENSORS for s in sensors.get(name, ())]
    return max((float(t) for t in temperatures if low <= t <= high), default=None)
