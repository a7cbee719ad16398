"""Losses out of feedback: a packet reported missing may still come."""

from __future__ import annotations

from collections.abc import Iterable

from .messages import PacketResult

# Ours: at least as many as a second at 10 Mbit/s; a later arrival counts as a new packet.
REMEMBERED = 1_000


class LossCounter:
    """Counts each packet once, and takes back those that came after all. One for each path."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._missing: dict[int, None] = {}

    def count(self, results: Iterable[PacketResult]) -> tuple[int, int]:
        """Take results; returns how many more are lost (or fewer: negative), of how many more."""
        lost = total = 0
        missing = self._missing
        for result in results:
            number = result.packet.number
            if result.arrival_us is None:
                if number not in missing:
                    missing[number] = None
                    lost += 1
                    total += 1
            elif number in missing:
                del missing[number]
                lost -= 1
            else:
                total += 1
        while len(missing) > self._remembered:
            del missing[next(iter(missing))]
        return lost, total
