"""Between two switches of the codec passes a while, longer with each that did not last."""

from __future__ import annotations

from .patience import Patience

# Ours: a switch costs a key frame and a second of its quality.
HOLD_US = 10_000_000
HOLD_MAX_US = 480_000_000
PROVEN_US = 60_000_000


class CodecHold:
    """Follows one stream."""

    def __init__(self, *, now_us: int) -> None:
        self._patience = Patience(HOLD_US, max_us=HOLD_MAX_US, proven_us=PROVEN_US)
        self._until_us = now_us
        self._improved_us: int | None = None

    def switched(self, *, improves: bool, may_return: bool, now_us: int) -> None:
        """The codec changed; improves tells that the one before could have stayed.

        may_return lets it come back at any time, as long as that has not failed yet.
        """
        if improves:
            self._improved_us = now_us
        elif self._improved_us is not None:
            self._patience.ended(now_us - self._improved_us)
            self._improved_us = None
        hold_us = self._patience.hold_us
        self._until_us = now_us + (0 if may_return and hold_us == HOLD_US else hold_us)

    def holds(self, now_us: int) -> bool:
        """Whether the codec stays, unless it cannot."""
        return now_us < self._until_us
