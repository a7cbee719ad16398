"""The battery's constraint: below a level H.264, which takes the least, until there is power again."""

from __future__ import annotations

from ...codecs.types import Codec
from .decisions import AdaptationReason, Refusal
from .health import DeviceHealth
from .operation import Operation
from .situation import Situation, Step

# Ours: a level that is near the bound is read now above and now below it.
HYSTERESIS_RATIO = 0.05


class Battery:
    """Refuses AV1 in software while the battery is low and nothing charges it."""

    reason = AdaptationReason.BATTERY

    def __init__(self, level_ratio: float | None) -> None:
        """level_ratio None: whatever the battery holds."""
        self.is_low = False
        self._level_ratio = level_ratio
        self._left_ratio: float | None = None
        self._has_hardware = False

    def handle(self, health: DeviceHealth) -> None:
        """Take a look at the device. Nothing is known of a battery that it does not tell of."""
        self._left_ratio = health.battery_ratio
        if health.has_hardware_av1 is not None:
            self._has_hardware = health.has_hardware_av1
        left, level = health.battery_ratio, self._level_ratio
        if left is None or level is None or health.on_power:
            self.is_low = False
        else:
            self.is_low = left < level + (HYSTERESIS_RATIO if self.is_low else 0)

    def refuses(
        self, operation: Operation, situation: Situation, step: Step, *, strictly: bool
    ) -> Refusal | None:
        """See Constraint; in its weaker form the battery pays for what works at all."""
        if not (self.is_low and strictly) or self._has_hardware or operation.codec is not Codec.AV1:
            return None
        return Refusal(
            operation=operation,
            constraint="battery",
            value=self._left_ratio,
            limit=self._level_ratio,
        )
