"""Which lost packets to ask for again, and when (RFC 4585 6.2.1)."""

from __future__ import annotations

from dataclasses import dataclass

# ours: a packet overtaken on the way is rarely more than this late, and asking costs a packet.
REORDER_US = 5_000
# libwebrtc NackRequester: kDefaultRttMs, kMaxNackRetries, kMaxNackPackets.
DEFAULT_RTT_US = 100_000
MAX_TRIES = 10
MAX_MISSING = 1000


@dataclass(slots=True)
class _Missing:
    next_us: int
    tries: int = 0


class NackTracker:
    """Numbers that are missing between those received; each asked for once per round-trip time."""

    def __init__(self) -> None:
        self._missing: dict[int, _Missing] = {}
        self._highest: int | None = None
        self._floor = -1

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers that are still awaited, ascending."""
        return tuple(sorted(self._missing))

    def received(self, sequence: int, *, now_us: int) -> None:
        """Note a packet, original or retransmitted; opens a gap up to it or closes one."""
        if self._highest is None or sequence > self._highest:
            if self._highest is not None:
                self._note_gap(max(self._highest, self._floor) + 1, sequence, now_us=now_us)
            self._highest = sequence
        else:
            self._missing.pop(sequence, None)

    def discard_through(self, sequence: int) -> None:
        """Stop asking for anything up to a number: it could not be shown any more."""
        self._floor = max(self._floor, sequence)
        for lost in [s for s in self._missing if s <= sequence]:
            del self._missing[lost]

    def poll(self, *, now_us: int, rtt_us: int) -> tuple[int, ...]:
        """Numbers to ask for now, ascending; those asked for too often are given up."""
        due = sorted(s for s, m in self._missing.items() if m.next_us <= now_us)
        for sequence in due:
            entry = self._missing[sequence]
            entry.tries += 1
            entry.next_us = now_us + rtt_us
            if entry.tries >= MAX_TRIES:
                del self._missing[sequence]
        return tuple(due)

    def poll_timeout(self) -> int | None:
        """When poll() next has something to ask for."""
        return min((m.next_us for m in self._missing.values()), default=None)

    def _note_gap(self, first: int, end: int, *, now_us: int) -> None:
        lost = range(first, end)
        if len(self._missing) + len(lost) > MAX_MISSING:
            # As libwebrtc's NackRequester does: so much is not repaired, a key frame is.
            self._missing.clear()
            return
        for sequence in lost:
            self._missing[sequence] = _Missing(next_us=now_us + REORDER_US)
