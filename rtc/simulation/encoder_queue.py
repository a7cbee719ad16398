"""The picture that waits for a sender's encoder, and why it is not encoded where it never is."""

from __future__ import annotations

from .records import PACER_FULL, THE_END, FrameRecord


class EncoderQueue:
    """Of one picture: a newer one takes its place."""

    def __init__(self) -> None:
        self.every = 1
        """One of how many captured pictures is sent, by the last job."""
        self._waiting: FrameRecord | None = None
        self._is_encoding = False

    def taken(self, record: FrameRecord) -> None:
        """The sender took a picture, in place of the one that was waiting, if any."""
        if self._waiting is not None and not self._is_encoding:
            self._waiting.skipped = PACER_FULL
        self._waiting = record

    def began(self, *, every: int) -> None:
        """The one that was waiting is being encoded."""
        self.every = every
        self._waiting, self._is_encoding = None, True

    def ended(self) -> None:
        """The encoder is free again."""
        self._is_encoding = False

    def finish(self) -> None:
        """The call is over."""
        if self._waiting is not None:
            self._waiting.skipped = THE_END
