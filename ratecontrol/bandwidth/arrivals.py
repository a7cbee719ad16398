"""What the arrival of a packet tells: how long it waited, and whether it had to queue behind the one before."""

from __future__ import annotations

from dataclasses import dataclass

from .base_delay import BaseDelay
from .codesign_settings import CodesignSettings
from .messages import SentPacket

# ours: a queue beyond what the round trip leaves for it is a receiver's clock that was set, but for this.
CLOCK_SLACK_US = 30_000
# ours: packets that differ in size by less take as long.
SAME_BYTES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """queue_us is how long the packet waited. The rest is against the packet that arrived before."""

    queue_us: float
    gap_us: int
    sent_gap_us: int
    has_queued: bool
    """It reached the bottleneck before the one ahead of it had left."""


class Arrivals:
    """Takes every packet that arrived, in order of sending."""

    def __init__(self, settings: CodesignSettings) -> None:
        self._settings = settings
        self._base = BaseDelay(window_us=settings.base_window_us)
        self._first_us: int | None = None
        self._last: tuple[SentPacket, int] | None = None
        self.queue_us = 0.0
        """How long the last packet waited."""

    def take(
        self,
        packet: SentPacket,
        *,
        arrival_us: int,
        capacity_bps: float,
        base_rtt_us: float | None,
        now_us: int,
    ) -> Arrival | None:
        """Take a packet; None where there is none before to compare it with.

        capacity_bps says what sizes cost, base_rtt_us is the round trip without queue, where known.
        """
        if self._first_us is None:
            self._first_us = now_us
        delay_us, size_bytes = arrival_us - packet.sent_us, packet.size_bytes
        self._measure(delay_us, size_bytes=size_bytes, capacity_bps=capacity_bps, now_us=now_us)
        if base_rtt_us is not None:
            longest_us = now_us - packet.sent_us - base_rtt_us
            if self.queue_us > longest_us + CLOCK_SLACK_US:
                self.restart()
                self._measure(
                    delay_us, size_bytes=size_bytes, capacity_bps=capacity_bps, now_us=now_us
                )
        last, self._last = self._last, (packet, arrival_us)
        if last is None or arrival_us < last[1]:
            return None
        return Arrival(
            queue_us=self.queue_us,
            gap_us=arrival_us - last[1],
            sent_gap_us=packet.sent_us - last[0].sent_us,
            has_queued=self._has_queued(packet, arrival_us=arrival_us, last=last, now_us=now_us),
        )

    def restart(self) -> None:
        """The path has changed, or the receiver's clock: forget the least delay."""
        self._base.restart()
        self._last = None

    def _measure(self, delay_us: int, *, size_bytes: int, capacity_bps: float, now_us: int) -> None:
        self._base.add(delay_us, size_bytes=size_bytes, now_us=now_us)
        self.queue_us = self._base.queue_us(
            delay_us, size_bytes=size_bytes, capacity_bps=capacity_bps
        )

    def _has_queued(
        self, packet: SentPacket, *, arrival_us: int, last: tuple[SentPacket, int], now_us: int
    ) -> bool:
        settings, least_us = self._settings, self._base.least_us
        if least_us is not None and packet.sent_us + least_us + settings.slack_us < last[1]:
            return True
        # The least delay of the first packets is of large ones, perhaps behind each other.
        if self._first_us is None or now_us - self._first_us > settings.starting_us:
            return False
        rise_us = arrival_us - packet.sent_us - (last[1] - last[0].sent_us)
        return rise_us > settings.rise_us and packet.size_bytes <= last[0].size_bytes + SAME_BYTES
