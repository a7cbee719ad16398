"""A sound device in time only: which sample is heard when. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# A player whose audio piles up drops some to catch up. Ours: two packets of 20 ms.
MAX_BACKLOG_US = 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Packet:
    start_us: int
    end_us: int
    latency_us: int


class AudioClock:
    """Plays each packet at once, or after the one before it."""

    def __init__(self) -> None:
        self._packets: tuple[_Packet, ...] = ()

    def arrived(self, now_us: int, *, capture_us: int, length_us: int) -> int:
        """A decoded packet, whose first sample was captured at capture_us, is handed over to play.

        Returns its latency from capture to ear.
        """
        held = [earlier for earlier in self._packets if earlier.end_us > now_us]
        start_us = max(now_us, held[-1].end_us) if held else now_us
        if start_us - now_us > MAX_BACKLOG_US:
            held = [earlier for earlier in held if earlier.start_us <= now_us]
            start_us = now_us
        packet = _Packet(
            start_us=start_us, end_us=start_us + length_us, latency_us=start_us - capture_us
        )
        self._packets = (*held, packet)
        return packet.latency_us

    def latency_us(self, now_us: int) -> int | None:
        """Capture to ear of what is heard now; None while the device has nothing to play."""
        for packet in reversed(self._packets):
            if packet.start_us <= now_us < packet.end_us:
                return packet.latency_us
        return None
