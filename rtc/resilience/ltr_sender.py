"""The sending side of long-term references: which were sent, and which of them the peer holds."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

# ours: the slot book pins four; a few more tell a late acknowledgement from an invented one.
MAX_LTRS = 16

_ID_MASK = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Ltr:
    """A long-term reference that was sent."""

    frame_id: int
    sent_us: int


class LtrSender:
    """Follows the references since the newest key frame, which is the first of them."""

    def __init__(self) -> None:
        self._sent: OrderedDict[int, Ltr] = OrderedDict()
        self._acknowledged: Ltr | None = None
        self._untold: list[int] = []

    @property
    def acknowledged(self) -> Ltr | None:
        """The newest that the peer is known to hold."""
        return self._acknowledged

    @property
    def last_sent_us(self) -> int | None:
        """When the newest was sent."""
        return next(reversed(self._sent.values())).sent_us if self._sent else None

    def sent(self, frame_id: int, *, key: bool, now_us: int) -> None:
        """A reference is on its way; what was before a key frame is held by nobody."""
        if key:
            self.clear()
        self._sent[frame_id] = Ltr(frame_id=frame_id, sent_us=now_us)
        while len(self._sent) > MAX_LTRS:
            self._sent.popitem(last=False)

    def clear(self) -> None:
        """Forget all: what the encoder holds is gone."""
        self._sent.clear()
        self._acknowledged = None
        self._untold.clear()

    def acknowledge(self, frame_id: int) -> bool:
        """The peer holds this frame; whether that is news. Frames that are no LTR say nothing."""
        ltr = self._sent.get(frame_id)
        newest = self._acknowledged
        if ltr is None or (newest is not None and frame_id <= newest.frame_id):
            return False
        self._acknowledged = ltr
        self._untold.append(frame_id)
        return True

    def acknowledge_short(self, short_id: int) -> bool:
        """The same for the low 16 bits of a frame id; of what was sent at most one has them."""
        for frame_id in self._sent:
            if frame_id & _ID_MASK == short_id:
                return self.acknowledge(frame_id)
        return False

    def holds_short(self, short_id: int) -> bool:
        """Whether a reference with these low 16 bits was sent, and not long ago."""
        return any(frame_id & _ID_MASK == short_id for frame_id in self._sent)

    def take_acknowledged(self) -> tuple[int, ...]:
        """Frame ids that were acknowledged since the last call, for the encoder's slot book."""
        untold, self._untold = tuple(self._untold), []
        return untold
