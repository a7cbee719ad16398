"""What the controller remembers of sent frames that later ones may be predicted from."""

from __future__ import annotations

from dataclasses import dataclass

from .probe import Thumbnail

# Ours: more than the frames between two long-term references at 60 pictures a second, twice.
CAPACITY = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Remembered:
    """A sent frame: its samples, and the coarseness of what it shows."""

    thumbnail: Thumbnail | None
    coarse: float


class ReferenceMemory:
    """The last CAPACITY sent frames by frame id."""

    def __init__(self) -> None:
        self._frames: dict[int, Remembered] = {}

    def get(self, frame_id: int | None) -> Remembered | None:
        """The frame, None if it was never sent or is long gone."""
        return None if frame_id is None else self._frames.get(frame_id)

    def newest(self) -> Remembered | None:
        """The frame sent last."""
        return self._frames[next(reversed(self._frames))] if self._frames else None

    def sent(self, frame_id: int, *, thumbnail: Thumbnail | None, coarse: float) -> None:
        """Remember a sent frame."""
        self._frames.pop(frame_id, None)
        self._frames[frame_id] = Remembered(thumbnail=thumbnail, coarse=coarse)
        if len(self._frames) > CAPACITY:
            del self._frames[next(iter(self._frames))]
