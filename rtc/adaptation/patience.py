"""How long to wait before what failed is tried again: longer with each failure."""

from __future__ import annotations


class Patience:
    """A hold that doubles with each failure and halves with each success."""

    def __init__(self, first_us: int, *, max_us: int, proven_us: int) -> None:
        """What lasts for proven_us did not fail."""
        self.hold_us = first_us
        self._first_us, self._max_us, self._proven_us = first_us, max_us, proven_us

    def ended(self, lasted_us: int) -> None:
        """What was tried has come to an end after so long."""
        if lasted_us < self._proven_us:
            self.hold_us = min(2 * self.hold_us, self._max_us)
        else:
            self.hold_us = max(self.hold_us // 2, self._first_us)
