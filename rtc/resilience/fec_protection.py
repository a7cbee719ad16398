"""FEC over the base layer as it leaves: which packets go together, and what of them FEC gives back.

Groups are whole frames, so that a FEC packet follows a marker packet (ULPFEC inside a frame would break it).
In a group the packets are dealt out in turn among its FEC packets: a burst takes one from each.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field

from ..rtp.fec import FecPacket, protect
from .fec_plan import NO_FEC, FecPlan

# ours: a group's span in sequence numbers, which ULPFEC's long mask still carries.
MAX_SPAN = 40
# ours: four seconds at 30 FEC packets a second.
MAX_GROUPS = 128
# ours: more than this would double what the base layer takes of a low rate.
MOST_PERCENT = 40


@dataclass(slots=True)
class _Group:
    """What one FEC packet protects; left_us is when it left, None while it waits."""

    numbers: tuple[int, ...]
    unknown: set[int]
    missing: set[int] = field(default_factory=set)
    left_us: int | None = None
    is_lost: bool = False
    is_there: bool = False

    @property
    def covers(self) -> bool:
        return len(self.missing) <= 1 and not self.is_lost

    def recovered(self) -> int | None:
        """The lost number that the receiver has for certain by this."""
        if not self.is_there or self.unknown or len(self.missing) != 1:
            return None
        return next(iter(self.missing))


class FecProtection:
    """One stream's FEC. Sequence numbers are those of 16 bits; memory is bounded."""

    def __init__(self, *, stamp_ids: Collection[int]) -> None:
        """stamp_ids are ExtensionMap.stamp_ids."""
        self.plan: FecPlan = NO_FEC
        self._stamp_ids = stamp_ids
        self._open: list[tuple[int, bytes]] = []
        self._open_frames = 0
        self._open_missing: set[int] = set()
        self._groups: OrderedDict[int, _Group] = OrderedDict()
        self._group_of: dict[int, _Group] = {}
        self._next_id = 0

    def __len__(self) -> int:
        """Media packets whose FEC is remembered."""
        return len(self._group_of)

    @property
    def is_on(self) -> bool:
        """Whether packets are protected."""
        return self.plan.percent > 0

    def set_plan(self, plan: FecPlan) -> None:
        """Protect what leaves from now on like this."""
        if plan.percent == 0:
            self._close()
        self.plan = plan

    def left(
        self, sequence_number: int, data: bytes, *, ends_frame: bool
    ) -> list[tuple[int, FecPacket]]:
        """A packet of the base layer left as these bytes; FEC packets that are due, with ids of ours."""
        packets = []
        if self._open and (sequence_number - self._open[0][0]) & 0xFFFF >= MAX_SPAN:
            packets = self._end_group()
        self._open.append((sequence_number, data))
        if ends_frame:
            self._open_frames += 1
            if self._open_frames >= self.plan.frames:
                packets += self._end_group(waits=self._open_frames < self.plan.max_frames)
        return packets

    def fec_left(self, fec_id: int, *, now_us: int) -> None:
        """A FEC packet left."""
        if (group := self._groups.get(fec_id)) is not None:
            group.left_us = now_us

    def fec_reported(self, fec_id: int, *, arrived: bool) -> int | None:
        """What became of a FEC packet; the number of a packet that the receiver has by it."""
        group = self._groups.get(fec_id)
        if group is None:
            return None
        group.is_there, group.is_lost = arrived, not arrived
        return group.recovered()

    def media_reported(self, sequence_number: int, *, arrived: bool) -> int | None:
        """What became of a packet; the number of one that the receiver has by FEC for it."""
        group = self._group_of.get(sequence_number)
        if group is None:
            if arrived:
                self._open_missing.discard(sequence_number)
            elif any(number == sequence_number for number, _ in self._open):
                self._open_missing.add(sequence_number)
            return None
        group.unknown.discard(sequence_number)
        (group.missing.discard if arrived else group.missing.add)(sequence_number)
        return group.recovered()

    def covers(self, sequence_number: int) -> bool:
        """Whether FEC that was or will be sent may still give this packet back."""
        group = self._group_of.get(sequence_number)
        if group is not None:
            return group.covers
        is_open = any(number == sequence_number for number, _ in self._open)
        return is_open and len(self._open_missing) <= 1

    def fec_left_us(self, sequence_number: int) -> int | None:
        """When the FEC for this packet left; None while it waits or where there is none."""
        group = self._group_of.get(sequence_number)
        return None if group is None else group.left_us

    def _end_group(self, *, waits: bool = False) -> list[tuple[int, FecPacket]]:
        """FEC over the open group; none where it has so few packets that FEC would cost too much."""
        count = len(self._open)
        parts = max(self.plan.least, -(-count * self.plan.percent // 100))
        if 100 * parts > count * MOST_PERCENT:
            if waits:
                return []
            parts = count * MOST_PERCENT // 100
        packets = [self._part(self._open[part::parts]) for part in range(parts)]
        self._close()
        return packets

    def _part(self, packets: list[tuple[int, bytes]]) -> tuple[int, FecPacket]:
        fec = protect([data for _, data in packets], stamp_ids=self._stamp_ids)
        numbers = fec.sequence_numbers
        group = _Group(numbers=numbers, unknown=set(numbers))
        group.missing = {number for number in numbers if number in self._open_missing}
        group.unknown -= group.missing
        fec_id, self._next_id = self._next_id, self._next_id + 1
        self._groups[fec_id] = group
        self._group_of.update(dict.fromkeys(numbers, group))
        while len(self._groups) > MAX_GROUPS:
            _, oldest = self._groups.popitem(last=False)
            for number in oldest.numbers:
                if self._group_of.get(number) is oldest:
                    del self._group_of[number]
        return fec_id, fec

    def _close(self) -> None:
        self._open.clear()
        self._open_frames = 0
        self._open_missing.clear()
