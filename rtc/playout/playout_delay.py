"""When to show a frame: as evenly as it was captured, and as early as the path's jitter allows."""

from __future__ import annotations

from collections import deque

# ours: the window over which the quickest frame defines "no delay"; clocks of two peers drift by less than
# 1 ms in it (100 ppm), so skew is followed without being measured.
BASE_WINDOW_US = 10_000_000
# ours: of the last 600 frames (twenty seconds at 30 fps) 30 may be late, 5 %. What comes later than that came by
# retransmission or after a stall, and waiting for such frames would delay every other. A stall of up to a second
# therefore leaves the delay as it was.
LATENESS_FRAMES = 600
LATE_FRAMES = 30
# ours: no call waits longer for smoothness.
MAX_DELAY_US = 500_000
# ours: the delay rises as soon as enough frames are late, and falls this much a second, too little to be seen.
FALL_US_PER_S = 20_000


class PlayoutDelay:
    """Follows when frames become ready against when they were captured.

    Times of capture are on the sender's clock, all others on the receiver's; only differences count.
    """

    def __init__(self) -> None:
        self._transits: deque[tuple[int, int]] = deque()
        self._lateness: deque[int] = deque(maxlen=LATENESS_FRAMES)
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

    def ready(self, *, captured_us: int, now_us: int) -> int:
        """Note a frame that can be shown from now on; when it should be, now or later."""
        transit = now_us - captured_us
        base = self._follow_base(transit, now_us)
        self._lateness.append(transit - base)
        self._follow_delay(now_us)
        return max(now_us, captured_us + base + self.delay_us)

    def _follow_base(self, transit: int, now_us: int) -> int:
        # A deque of ascending transits: its head is the least of the window.
        while self._transits and self._transits[-1][1] >= transit:
            self._transits.pop()
        self._transits.append((now_us, transit))
        while self._transits[0][0] < now_us - BASE_WINDOW_US:
            self._transits.popleft()
        return self._transits[0][1]

    def _follow_delay(self, now_us: int) -> None:
        late = sorted(self._lateness, reverse=True)[LATE_FRAMES : LATE_FRAMES + 1]
        wanted = min(late[0], MAX_DELAY_US) if late else 0
        elapsed_us = 0 if self._last_us is None else now_us - self._last_us
        self._last_us = now_us
        lowest = self._delay_us - FALL_US_PER_S * elapsed_us // 1_000_000
        self._delay_us = max(wanted, lowest)
