"""What the operating system tells of a device, once a second or so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceHealth:
    """One look at the device; None for what it does not tell.

    cpu_ratio is how busy the whole machine is, cpu_pressure_ratio the part of the last ten seconds in
    which something waited for a processor (Linux PSI, "some avg10"), battery_ratio what the battery
    holds, frequency_ratio the processor's frequency over its greatest.
    """

    time_us: int
    cpu_ratio: float | None = None
    cpu_pressure_ratio: float | None = None
    battery_ratio: float | None = None
    on_power: bool | None = None
    frequency_ratio: float | None = None
    temperature_c: float | None = None
    has_hardware_av1: bool | None = None
