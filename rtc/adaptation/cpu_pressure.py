"""The machine's constraint: while others wait for the processor, or it is too hot, no time is to spare."""

from __future__ import annotations

from .decisions import AdaptationReason, Refusal
from .health import DeviceHealth
from .operation import Operation
from .operations import is_spare
from .situation import Situation, Step

# Ours: the part of ten seconds in which something waited for a processor. A call alone on two cores
# comes to 0.1 to 0.2.
PRESSURE_HIGH = 0.4
PRESSURE_LOW = 0.25
# Ours: a machine as busy as this has nothing to spare.
BUSY_HIGH = 0.95
BUSY_LOW = 0.85
# Ours: processors throttle from 90 to 100 degrees on.
HOT_C = 90.0
COOL_C = 82.0
# Ours: busy and yet at half of its frequency, it is held back; idle, it saves power.
THROTTLED_RATIO = 0.5
THROTTLED_BUSY = 0.6
# Ours: so many looks in a row, each a second apart; a burst of work is none of ours.
LOOKS_ON = 3
LOOKS_OFF = 10


class CpuPressure:
    """Refuses the presets that are only for spare time."""

    reason = AdaptationReason.CPU_PRESSURE

    def __init__(self) -> None:
        self.is_high = False
        self._looks = 0
        self._value: float | None = None

    def handle(self, health: DeviceHealth) -> None:
        """Take a look at the device, once a second."""
        self._value = health.cpu_pressure_ratio
        differs = self._is_high(health) != self.is_high
        self._looks = self._looks + 1 if differs else 0
        if self._looks >= (LOOKS_OFF if self.is_high else LOOKS_ON):
            self.is_high, self._looks = not self.is_high, 0

    def refuses(
        self, operation: Operation, situation: Situation, step: Step, *, strictly: bool
    ) -> Refusal | None:
        """See Constraint."""
        if not (self.is_high and strictly and is_spare(operation)):
            return None
        return Refusal(
            operation=operation, constraint="CPU pressure", value=self._value, limit=PRESSURE_HIGH
        )

    def _is_high(self, health: DeviceHealth) -> bool:
        high = self.is_high
        return (
            _above(health.cpu_pressure_ratio, PRESSURE_LOW if high else PRESSURE_HIGH)
            or _above(health.cpu_ratio, BUSY_LOW if high else BUSY_HIGH)
            or _above(health.temperature_c, COOL_C if high else HOT_C)
            or (
                health.frequency_ratio is not None
                and health.frequency_ratio < THROTTLED_RATIO
                and _above(health.cpu_ratio, THROTTLED_BUSY)
            )
        )


def _above(value: float | None, limit: float) -> bool:
    return value is not None and value > limit
