"""Which lost packets to ask for again, and when (RFC 4585 6.2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# ours: a packet overtaken on the way is rarely more than this late, and asking costs a packet.
REORDER_US = 5_000
# libwebrtc NackRequester: kDefaultRttMs, kMaxNackRetries, kMaxNackPackets.
DEFAULT_RTT_US = 100_000
MAX_TRIES = 10
MAX_MISSING = 1000
# ours: what is older than this is not shown any more, whatever the playout delay (at most 0.5 s).
MAX_AGE_US = 2_500_000
# ours: a frame that no other refers to is worth repeating only while its successor, two frame intervals of
# 30 fps later, has not taken its place.
MAX_DISCARDABLE_RTT_US = 60_000


@dataclass(slots=True)
class _Missing:
    next_us: int
    since_us: int
    layer: int
    tries: int = 0


class NackTracker:
    """Numbers that are missing between those received; each asked for once per round-trip time."""

    def __init__(self) -> None:
        self._missing: dict[int, _Missing] = {}
        self._highest: int | None = None
        self._floor = -1
        self._given_up: int | None = None

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers that are still awaited, ascending."""
        return tuple(sorted(self._missing))

    @property
    def last_base(self) -> int | None:
        """The highest missing number of the base layer: what follows cannot be decoded without it."""
        return max((s for s, entry in self._missing.items() if entry.layer == 0), default=None)

    def opens_gap(self, sequence: int) -> bool:
        """Whether numbers between the highest one and this would be missing."""
        return self._highest is not None and sequence > max(self._highest, self._floor) + 1

    def received(self, sequence: int, *, now_us: int, layer: int = 0, wait_us: int = 0) -> None:
        """Note a packet, original or recovered; opens a gap up to it or closes one.

        layer is the temporal layer of what a new gap holds, wait_us how much longer than for reordering
        it may still fill by itself.
        """
        if self._highest is None or sequence > self._highest:
            if self._highest is not None:
                entry = _Missing(
                    next_us=now_us + REORDER_US + wait_us, since_us=now_us, layer=layer
                )
                self._note_gap(max(self._highest, self._floor) + 1, sequence, entry=entry)
            self._highest = sequence
        else:
            self._missing.pop(sequence, None)

    def hasten(self, sequences: Iterable[int], *, now_us: int) -> None:
        """Ask at once for those of the numbers that waited to fill by themselves: they will not."""
        for sequence in sequences:
            entry = self._missing.get(sequence)
            if entry is not None and not entry.tries:
                entry.next_us = min(entry.next_us, max(now_us, entry.since_us + REORDER_US))

    def discard_through(self, sequence: int) -> None:
        """Stop asking for anything up to a number: it could not be shown any more."""
        self._floor = max(self._floor, sequence)
        for lost in [s for s in self._missing if s <= sequence]:
            del self._missing[lost]

    def poll(self, *, now_us: int, rtt_us: int) -> tuple[int, ...]:
        """Numbers to ask for now, ascending; those asked for too often or for too long are given up."""
        asked = []
        for sequence in sorted(s for s, m in self._missing.items() if m.next_us <= now_us):
            entry = self._missing[sequence]
            if entry.layer > 0 and rtt_us > MAX_DISCARDABLE_RTT_US:
                del self._missing[sequence]
                continue
            if now_us - entry.since_us > MAX_AGE_US:
                self._give_up(sequence)
                continue
            asked.append(sequence)
            entry.tries += 1
            entry.next_us = now_us + rtt_us
            if entry.tries >= MAX_TRIES:
                self._give_up(sequence)
        return tuple(asked)

    def poll_timeout(self) -> int | None:
        """When poll() next has something to do."""
        return min((m.next_us for m in self._missing.values()), default=None)

    def take_given_up(self) -> int | None:
        """The number of the base layer that was given up last; None when none was since the last call."""
        given_up, self._given_up = self._given_up, None
        return given_up

    def _give_up(self, sequence: int) -> None:
        if self._missing.pop(sequence).layer == 0:
            self._given_up = sequence

    def _note_gap(self, first: int, end: int, *, entry: _Missing) -> None:
        lost = range(first, end)
        if len(self._missing) + len(lost) > MAX_MISSING:
            # As libwebrtc's NackRequester does: so much is not repaired, a key frame is.
            self._missing.clear()
            self._given_up = end - 1
            return
        for sequence in lost:
            self._missing[sequence] = _Missing(
                next_us=entry.next_us, since_us=entry.since_us, layer=entry.layer
            )
