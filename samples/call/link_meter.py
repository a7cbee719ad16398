"""What an emulated link did to a live call, as the page and the report show it. Pure."""

from __future__ import annotations

from typing import Any

from ...rtc.simulation.link import Link, LossReason
from .series import spread_ms


class LinkMeter:
    """Reads one direction's link. Times are the link's own."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._told_us = 0
        self._told_served_bytes = 0
        self._told_packets = 0

    def summary(self, now_us: int) -> dict[str, Any]:
        """The figures since time 0."""
        counters = self._link.counters
        return {
            "queue_delay_ms": spread_ms(counters.queue_delays_us),
            "utilisation": self._utilisation(0, now_us, self._link.served_bytes(now_us)),
            "packets_offered": counters.offered_packets,
            "packets_lost": counters.dropped[LossReason.LOSS],
            "packets_dropped": counters.dropped[LossReason.QUEUE],
        }

    def live(self, now_us: int) -> dict[str, Any]:
        """The figures since they were last asked for, and all losses so far."""
        delays_us = self._link.counters.queue_delays_us[self._told_packets :]
        served_bytes = self._link.served_bytes(now_us)
        figures = self.summary(now_us) | {
            "queue_delay_ms": spread_ms(delays_us),
            "utilisation": self._utilisation(
                self._told_us, now_us, served_bytes - self._told_served_bytes
            ),
        }
        self._told_us, self._told_served_bytes = now_us, served_bytes
        self._told_packets += len(delays_us)
        return figures

    def _utilisation(self, start_us: int, end_us: int, served_bytes: int) -> float | None:
        capacity_bytes = self._link.capacity_bytes(start_us, end_us)
        return round(served_bytes / capacity_bytes, 4) if capacity_bytes else None
