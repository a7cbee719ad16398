"""What the senders of a connection know of the devices at its ends: scores, and the health of ours."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ..adaptation.health import DeviceHealth
from ..adaptation.settings import StartPoint
from .clock import now_us
from .device_health import DeviceMeter

logger = logging.getLogger("codecpilot.rtc")

# Ours: batteries and temperatures move slower, and Linux' pressure is a mean of ten seconds.
HEALTH_PERIOD_S = 1.0

HealthSink = Callable[[DeviceHealth], None]
"""Takes a reading, in the event loop."""


class Devices:
    """Shared by the senders of a connection. Readings are taken while anybody subscribes to them."""

    def __init__(self, *, meter: DeviceMeter | None = None) -> None:
        self.peer_score: float | None = None
        """The peer's rtc_score; None where it told none."""
        self.start: StartPoint | None = None
        """How sending begins; None where no policy says so."""
        self._meter = meter
        self._sinks: list[HealthSink] = []
        self._task: asyncio.Task[None] | None = None

    def subscribe(self, sink: HealthSink) -> None:
        """Hand over readings from now on."""
        self._sinks.append(sink)
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    def unsubscribe(self, sink: HealthSink) -> None:
        """Hand over no more; the last one's leaving ends the readings."""
        if sink in self._sinks:
            self._sinks.remove(sink)
        if not self._sinks and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        meter = self._meter = self._meter or DeviceMeter()
        while True:
            await asyncio.sleep(HEALTH_PERIOD_S)
            # In a thread: some drivers take their time.
            health = await loop.run_in_executor(None, lambda: meter.read(now_us=now_us()))
            for sink in tuple(self._sinks):
                try:
                    sink(health)
                except Exception:
                    logger.exception("a reading of the device's health was refused")
