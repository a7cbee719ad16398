"""What a viewer saw: latency, freezes, and how like the scene the screen was at every moment.

A call plays at some delay, and a viewer knows no other scene than the one on the screen: what should
be there is the picture captured one delay ago, where the delay is the median of those of the last
second. Each captured picture is compared once, half a frame after it was due, with whatever is on
the screen then: itself, or, when it came late, was lost or was never sent, an older one.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ...codecs.metrics import psnr_y
from ...codecs.pictures import scale_picture
from ...codecs.types import Picture
from ..percentile import percentile
from ..playout.freezes import FreezeDetector

# ours: a second at 30 fps, as the freeze detector's window.
DELAY_WINDOW = 30
# ours: a picture this late counts as not shown; it bounds how many pictures are kept, too.
MAX_DELAY_US = 1_000_000

PairSink = Callable[[Picture, Picture], None]
"""Takes the picture that should have been on the screen, and the one that was, of its size."""


@dataclass(frozen=True, slots=True)
class _Shown:
    at_us: int
    index: int
    picture: Picture


@dataclass(frozen=True, slots=True)
class _Captured:
    at_us: int
    index: int
    picture: Picture


class Screen:
    """One direction's viewer. Times are virtual; indices count the captured pictures."""

    def __init__(
        self, *, frame_us: int, on_pair: PairSink | None = None, compares: bool = True
    ) -> None:
        self.freezes = FreezeDetector()
        self.latencies_us = array("q")
        self.scores_db: dict[int, float] = {}
        """PSNR of what was on the screen when each captured picture was due, by its index."""
        self.on_screen: dict[int, int] = {}
        """The index of what was on the screen then."""
        self._half_frame_us = frame_us // 2
        self._on_pair = on_pair
        self._compares = compares
        self._delays_us: deque[int] = deque(maxlen=DELAY_WINDOW)
        self._captured: deque[_Captured] = deque()
        self._shown: deque[_Shown] = deque()

    def captured(self, picture: Picture, *, index: int, now_us: int) -> None:
        """Note what the camera saw; indices grow by one."""
        if self._compares:
            self._captured.append(_Captured(now_us, index, picture))
            self._compare(now_us)

    def shown(self, picture: Picture, *, index: int, capture_us: int, now_us: int) -> bool:
        """Note what the screen shows from now on; tells whether a freeze ended."""
        self._compare(now_us)
        latency_us = now_us - capture_us
        self.latencies_us.append(latency_us)
        self._delays_us.append(min(latency_us, MAX_DELAY_US))
        if self._compares:
            self._shown.append(_Shown(now_us, index, picture))
        return self.freezes.shown(now_us)

    def finish(self, now_us: int) -> None:
        """Compare what is due by the end."""
        self._compare(now_us)

    def _compare(self, now_us: int) -> None:
        if not self._delays_us:
            if len(self._captured) > DELAY_WINDOW:
                self._captured.popleft()
            return
        wait_us = (percentile(self._delays_us, 50) or 0) + self._half_frame_us
        while self._captured and self._captured[0].at_us + wait_us <= now_us:
            due = self._captured.popleft()
            self._score(due, due.at_us + wait_us)

    def _score(self, due: _Captured, moment_us: int) -> None:
        while len(self._shown) > 1 and self._shown[1].at_us <= moment_us:
            self._shown.popleft()
        on_screen = self._shown[0]
        if on_screen.at_us > moment_us:
            return  # nothing was on the screen yet
        shown = on_screen.picture
        size = (due.picture.width, due.picture.height)
        if (shown.width, shown.height) != size:
            shown = scale_picture(shown, width=size[0], height=size[1])
        self.on_screen[due.index] = on_screen.index
        self.scores_db[due.index] = psnr_y(due.picture, shown)
        if self._on_pair is not None:
            self._on_pair(due.picture, shown)
