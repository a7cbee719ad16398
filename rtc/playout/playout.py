"""Decoded pictures wait here until they are due; those that newer ones overtake are not shown."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ...codecs.types import Picture
from ..messages import VIDEO_CLOCK_HZ, ReceivedFrame
from .av_sync import AvSync
from .picture_memory import most_held
from .playout_delay import PlayoutDelay

# ours: pictures that wait at most; half a second at 30 fps, what PlayoutDelay ever asks for.
MAX_WAITING = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecodedPicture:
    """A picture that left the decoder, and the frame it came from.

    decoded_us is the receiver's clock, capture_wall_us the sender's wall clock, None if not known.
    """

    picture: Picture
    frame: ReceivedFrame
    decoded_us: int
    capture_wall_us: int | None


class Playout:
    """Releases each picture at its time, in order; of several that are due only the newest."""

    def __init__(self, *, av_sync: AvSync | None = None) -> None:
        """av_sync is told of the sound that goes with these pictures, by whoever plays it."""
        self.delay = PlayoutDelay()
        self._av_sync = av_sync or AvSync()
        self.skipped = 0
        self._following = False
        self._waiting: deque[tuple[int, DecodedPicture]] = deque()

    def insert(self, decoded: DecodedPicture, *, now_us: int) -> None:
        """Take a picture from the decoder, in the order of decoding."""
        captured_us = decoded.frame.rtp_timestamp * 1_000_000 // VIDEO_CLOCK_HZ
        if not (decoded.frame.recovered and self._following):
            self.delay.arrived(captured_us=captured_us, now_us=now_us)
            self._following = True
        self._follow_sound(decoded.capture_wall_us, captured_us, now_us)
        due_us = max(now_us, self.delay.due_us(captured_us))
        if self._waiting:
            # A delay that shrinks lets no picture overtake another.
            due_us = max(due_us, self._waiting[-1][0])
        self._waiting.append((due_us, decoded))

    def poll(self, *, now_us: int) -> DecodedPicture | None:
        """The picture to show now, if one is due."""
        due: DecodedPicture | None = None
        while self._waiting and (self._waiting[0][0] <= now_us or self._is_overfull()):
            self.skipped += due is not None
            due = self._waiting.popleft()[1]
        return due

    def poll_timeout(self) -> int | None:
        """When poll() next has a picture if none is inserted before."""
        return self._waiting[0][0] if self._waiting else None

    def _is_overfull(self) -> bool:
        newest = self._waiting[-1][1].picture
        return len(self._waiting) > most_held(newest, at_most=MAX_WAITING)

    def _follow_sound(self, capture_wall_us: int | None, captured_us: int, now_us: int) -> None:
        if capture_wall_us is None:
            return
        hold_us = self._av_sync.hold_us(
            captured_us=capture_wall_us,
            earliest_us=self.delay.earliest_us(captured_us),
            now_us=now_us,
        )
        self.delay.set_minimum(hold_us)
