"""When to show a frame: as evenly as it was captured, and as early as the path's jitter allows."""

from __future__ import annotations

from collections import deque

from ..windowed_minimum import WindowedMinimum

# ours: the window over which the quickest frame defines "no delay"; clocks of two peers drift by less than
# 1 ms in it (100 ppm), so skew is followed without being measured.
BASE_WINDOW_US = 10_000_000
# ours: of the last 300 frames (ten seconds at 30 fps) 15 may be later than the delay covers, 5 %: waiting for the
# latest would delay every other.
JITTER_FRAMES = 300
LATE_FRAMES = 15
# ours: no call waits longer for smoothness.
MAX_DELAY_US = 500_000
# ours: the delay rises as soon as enough frames are late, and falls this much a second, too little to be seen.
FALL_US_PER_S = 50_000


class PlayoutDelay:
    """Follows when frames arrive against when they were captured.

    Jitter is how much later a frame comes than the one before it did: a stall counts once and not
    for every frame that waited behind it, and a queue that grows slowly is no jitter at all.
    Times of capture are on the sender's clock, all others on the receiver's; only differences count.
    """

    def __init__(self) -> None:
        self._transits = WindowedMinimum(window_us=BASE_WINDOW_US)
        self._jitter: deque[int] = deque(maxlen=JITTER_FRAMES)
        self._last_transit: int | None = None
        self._base = 0
        self._delay_us = 0
        self._minimum_us = 0
        self._last_us: int | None = None

    @property
    def delay_us(self) -> int:
        """What is added to the quickest frame's way at present."""
        return max(self._delay_us, self._minimum_us)

    def set_minimum(self, delay_us: int) -> None:
        """Hold frames back at least this long, as sound that comes later asks for."""
        self._minimum_us = min(max(delay_us, 0), MAX_DELAY_US)

    def arrived(self, *, captured_us: int, now_us: int) -> None:
        """Note a frame that is ready as the path brought it, not repaired by a retransmission."""
        transit = now_us - captured_us
        self._base = self._transits.add(transit, now_us=now_us)
        if self._last_transit is not None:
            self._jitter.append(max(0, transit - self._last_transit))
        self._last_transit = transit
        self._follow_delay(now_us)

    def earliest_us(self, captured_us: int) -> int:
        """When the quickest way would have brought a frame. Needs a frame that arrived."""
        return captured_us + self._base

    def due_us(self, captured_us: int) -> int:
        """When a frame should be shown, which may have passed. Needs a frame that arrived."""
        return self.earliest_us(captured_us) + self.delay_us

    def _follow_delay(self, now_us: int) -> None:
        latest = sorted(self._jitter, reverse=True)[LATE_FRAMES : LATE_FRAMES + 1]
        wanted = min(latest[0], MAX_DELAY_US) if latest else 0
        elapsed_us = 0 if self._last_us is None else now_us - self._last_us
        self._last_us = now_us
        lowest = self._delay_us - FALL_US_PER_S * elapsed_us // 1_000_000
        self._delay_us = max(wanted, lowest)
