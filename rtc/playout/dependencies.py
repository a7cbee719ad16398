"""Which whole frames may be decoded now.

dav1d decodes a frame whose reference was lost without an error, into garbage: only dependency information tells
that it must not be decoded. With a dependency descriptor (AV1 RTP specification, appendix A) a frame may be
decoded once each frame it names was; without one, only when it follows the last decoded frame without a gap.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from ..messages import ReceivedFrame

# AV1 RTP specification A.8.2: a frame's fdiff is at most 4096, so no older frame can be named.
HISTORY_FRAMES = 4096
# ours: two seconds at 30 fps of frames that wait for a missing one; beyond that only a key frame helps.
MAX_WAITING = 64
# ours: two seconds at 32 Mbps, far above a call; 64 frames of the packet buffer's whole content are 200 MB.
MAX_WAITING_BYTES = 8_000_000


class DecodeOrder:
    """Holds whole frames and gives them out in order, each only when what it depends on was decoded."""

    def __init__(self) -> None:
        self._waiting: dict[int, ReceivedFrame] = {}
        self._decoded: OrderedDict[int, None] = OrderedDict()
        self._last_sequence: int | None = None
        self._passed_sequence: int | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def insert(self, frame: ReceivedFrame) -> bool:
        """Keep a frame until it may be decoded; False when the decoder has passed it already."""
        if self._passed_sequence is not None and frame.first_sequence <= self._passed_sequence:
            return False
        self._waiting[frame.first_sequence] = frame
        return True

    @property
    def overflowing(self) -> bool:
        """Whether so many frames wait, or so large ones, that only a key frame helps."""
        held_bytes = sum(len(frame.data) for frame in self._waiting.values())
        return len(self._waiting) > MAX_WAITING or held_bytes > MAX_WAITING_BYTES

    def next_frame(self, previous_of: Callable[[int], int]) -> ReceivedFrame | None:
        """The oldest frame that may be decoded now."""
        return next(self.decodable(previous_of), None)

    def decodable(self, previous_of: Callable[[int], int]) -> Iterator[ReceivedFrame]:
        """Every frame that may be decoded now, oldest first.

        previous_of gives the sequence number before another, padding passed over.
        """
        for first in sorted(self._waiting):
            if self.is_decodable(self._waiting[first], previous_of):
                yield self._waiting[first]

    def ready(
        self, previous_of: Callable[[int], int], *, given: ReceivedFrame | None = None
    ) -> list[ReceivedFrame]:
        """The frames that wait for nothing but the decoder, oldest first; given is what it has."""
        held = set() if given is None else {given.frame_id}
        last = self._last_sequence
        frames: list[ReceivedFrame] = []
        for first in sorted(self._waiting):
            frame = self._waiting[first]
            if frame.dependencies is None and not frame.key:
                follows = previous_of(first) == last and bool(held or self._decoded)
            else:
                follows = all(d in held or d in self._decoded for d in frame.dependencies or ())
            if follows:
                frames.append(frame)
                held.add(frame.frame_id)
                last = frame.last_sequence
        return frames

    def is_decodable(self, frame: ReceivedFrame, previous_of: Callable[[int], int]) -> bool:
        """Whether everything that a frame depends on was decoded."""
        if frame.key:
            return True
        if not self._decoded:
            return False
        if frame.dependencies is None:
            return previous_of(frame.first_sequence) == self._last_sequence
        return all(dependency in self._decoded for dependency in frame.dependencies)

    def taken(self, frame: ReceivedFrame) -> int:
        """Note that a frame goes to the decoder; older ones are abandoned, and counted."""
        stale = [s for s in self._waiting if s <= frame.first_sequence]
        for s in stale:
            del self._waiting[s]
        self._last_sequence = self._passed_sequence = frame.last_sequence
        return len(stale) - 1

    def drop(self, frames: list[ReceivedFrame]) -> None:
        """Give up waiting frames that the decoder had no time for, oldest first; later ones may need them."""
        for frame in frames:
            del self._waiting[frame.first_sequence]
            self._passed_sequence = frame.last_sequence

    def decoded(self, frame: ReceivedFrame) -> None:
        """Note that the decoder took it: others may depend on it now, after a key frame on it alone."""
        if frame.key:
            self._decoded.clear()
        self._decoded[frame.frame_id] = None
        while len(self._decoded) > HISTORY_FRAMES:
            self._decoded.popitem(last=False)

    def failed(self) -> None:
        """Note that the decoder refused a frame: what it holds is unknown until a key frame."""
        self._decoded.clear()

    def clear_waiting(self) -> int:
        """Drop every waiting frame; returns how many."""
        count = len(self._waiting)
        self._waiting.clear()
        return count
