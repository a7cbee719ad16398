"""What a simulated device tells of itself, as psutil does of a real one."""

from __future__ import annotations

from collections import deque
from fractions import Fraction

from ..adaptation.health import DeviceHealth
from .steps import Steps

# As rtc/connection/ reads a real device's.
HEALTH_INTERVAL_US = 1_000_000
# Encoder and decoder have a thread each and share no core.
CORES = 2


class HealthMeter:
    """Follows one peer's device. Times are virtual but for those that are named local."""

    def __init__(self, battery_percent: Steps[Fraction] | None) -> None:
        """battery_percent is what is left over time; without it the device is on power."""
        self._battery_percent = battery_percent
        self._busy: deque[tuple[int, int]] = deque()

    def works(self, start_us: int, duration_us: int) -> None:
        """A codec has one core's time from start_us on."""
        self._busy.append((start_us, start_us + duration_us))

    def health(self, *, now_us: int, local_us: int) -> DeviceHealth:
        """How the device stands; local_us is the same time by the peer's own clock."""
        battery = self._battery_percent
        return DeviceHealth(
            time_us=local_us,
            cpu_ratio=self._busy_ratio(now_us),
            battery_ratio=None if battery is None else float(battery.at(now_us)) / 100,
            on_power=battery is None,
        )

    def _busy_ratio(self, now_us: int) -> float:
        """Of all cores, over the last interval."""
        since_us = now_us - HEALTH_INTERVAL_US
        while self._busy and self._busy[0][1] <= since_us:
            self._busy.popleft()
        busy_us = sum(max(0, min(end, now_us) - max(start, since_us)) for start, end in self._busy)
        return busy_us / (CORES * HEALTH_INTERVAL_US)
