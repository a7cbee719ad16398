"""What the receiver holds of what was sent, judged by what feedback says of single packets.

A frame is delivered when all its packets arrived, in whatever way, and all that it depends on was delivered.
It is damaged while a packet of it is reported lost and has not arrived since.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# ours: four seconds at 30 fps; feedback that stays away as long tells nothing of a call that goes on.
MAX_FRAMES = 128
MAX_DELIVERED = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class LostPacket:
    """A packet of the base layer that was lost on its way and not repaired yet."""

    sequence_number: int
    frame_id: int
    index: int
    lost_us: int


@dataclass(slots=True)
class _Frame:
    dependencies: tuple[int, ...]
    is_base: bool
    # A bit for each packet that is not known to have arrived.
    awaited: int


class DeliveredFrames:
    """Follows the frames since the last point from which the receiver can go on whatever was lost."""

    def __init__(self) -> None:
        self._frames: OrderedDict[int, _Frame] = OrderedDict()
        self._delivered: OrderedDict[int, None] = OrderedDict()
        self._lost: dict[tuple[int, int], LostPacket] = {}

    @property
    def damage(self) -> Iterable[LostPacket]:
        """Packets whose loss keeps the receiver from going on, the oldest first."""
        return self._lost.values()

    def sent(
        self,
        frame_id: int,
        *,
        packets: int,
        dependencies: tuple[int, ...],
        is_base: bool,
        restarts: bool,
    ) -> None:
        """A frame is on its way.

        One that restarts needs nothing but what the receiver is known to hold; frames before it that
        have not been delivered are of no use any more, and never count as delivered.
        """
        if restarts:
            self._frames.clear()
            self._lost.clear()
        self._frames[frame_id] = _Frame(
            dependencies=() if restarts else dependencies,
            is_base=is_base,
            awaited=(1 << packets) - 1,
        )
        while len(self._frames) > MAX_FRAMES:
            self._forget(next(iter(self._frames)))

    def arrived(self, frame_id: int, index: int) -> tuple[int, ...]:
        """A packet of a frame is there; the frames that are delivered by it, in order of sending."""
        self._lost.pop((frame_id, index), None)
        frame = self._frames.get(frame_id)
        if frame is None or not frame.awaited >> index & 1:
            return ()
        frame.awaited &= ~(1 << index)
        return tuple(self._complete()) if not frame.awaited else ()

    def lost(self, frame_id: int, index: int, *, sequence_number: int, now_us: int) -> None:
        """A packet of a frame is reported lost."""
        frame = self._frames.get(frame_id)
        if frame is None or not frame.is_base or not frame.awaited >> index & 1:
            return
        packet = LostPacket(
            sequence_number=sequence_number, frame_id=frame_id, index=index, lost_us=now_us
        )
        self._lost.setdefault((frame_id, index), packet)

    def _complete(self) -> Iterator[int]:
        for frame_id, frame in list(self._frames.items()):
            if frame.awaited or not all(d in self._delivered for d in frame.dependencies):
                continue
            del self._frames[frame_id]
            self._delivered[frame_id] = None
            while len(self._delivered) > MAX_DELIVERED:
                self._delivered.popitem(last=False)
            yield frame_id

    def _forget(self, frame_id: int) -> None:
        del self._frames[frame_id]
        for key in [key for key in self._lost if key[0] == frame_id]:
            del self._lost[key]
