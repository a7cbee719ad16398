"""Loss that the rate causes, as opposed to loss that the path has at any rate.

A radio link loses packets whatever is sent: the least loss of the last seconds is taken for that. A
policer or a short queue loses what is beyond its rate: loss above that least says how much it carries.
"""

from __future__ import annotations

import math
from collections import deque

from .messages import Feedback

# ours: loss is measured over a second and at least so many packets; the least of ten such is the path's.
WINDOW_US = 1_000_000
MIN_PACKETS = 20
WINDOWS = 10
# ours: no path that is worth calling over loses more by itself; a policer does, for as long as it is exceeded.
MOST_INHERENT_RATIO = 0.2
# ours: at 30 packets a second chance alone passes the threshold; loss has to be so many standard
# deviations beyond it. A path that loses 5 % was held at an eighth of its 800 kbps after an outage.
DEVIATIONS = 1
# ours: in a window that took longer, too little was sent to speak of a rate.
LONGEST_US = 2_000_000
# ours: what is delivered plus this is tried again at once.
TRY_RATIO = 1.05


class LossExcess:
    """Takes every feedback."""

    def __init__(self, *, threshold_ratio: float) -> None:
        self._threshold_ratio = threshold_ratio
        self._losses: deque[float] = deque(maxlen=WINDOWS)
        self._began_us: int | None = None
        self._packets = self._lost = self._delivered_bytes = 0
        self.is_excessive = False
        """Whether the last window lost more than the path does by itself."""

    @property
    def mean_ratio(self) -> float:
        """The mean loss of the last windows."""
        return sum(self._losses) / len(self._losses) if self._losses else 0.0

    def update(self, feedback: Feedback) -> float | None:
        """Take feedback; what the path carries (bit/s), where a window that ended here says so."""
        if self._began_us is None:
            self._began_us = feedback.now_us
        for result in feedback.results:
            self._packets += 1
            if result.arrival_us is None:
                self._lost += 1
            else:
                self._delivered_bytes += result.packet.size_bytes
        elapsed_us = feedback.now_us - self._began_us
        if elapsed_us < WINDOW_US or self._packets < MIN_PACKETS:
            return None
        loss, delivered_bps = self._lost / self._packets, self._delivered_bytes * 8e6 / elapsed_us
        self._losses.append(loss)
        inherent = min(*self._losses, MOST_INHERENT_RATIO)
        deviation = math.sqrt(loss * (1 - loss) / self._packets)
        self.is_excessive = loss - inherent > self._threshold_ratio + DEVIATIONS * deviation
        self._began_us = feedback.now_us
        self._packets = self._lost = self._delivered_bytes = 0
        if not self.is_excessive or elapsed_us > LONGEST_US:
            return None
        return TRY_RATIO * delivered_bps / (1 - inherent)
