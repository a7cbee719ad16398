"""How many pictures a second are worth sending at a rate, and which of those captured to keep.

Every packet carries headers that no encoder sees, and every frame takes at least one packet: at 30
pictures a second that is 20 kbit/s. So at low rates fewer and better pictures look better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .capture_clock import CaptureClock

MICRO = 1_000_000
# IPv4 20, UDP 8, RTP 12 and SRTP's tag of 16 bytes (RFC 791, 768, 3550, 7714); ours: 26 of extensions.
HEADER_BITS = 8 * 82
# Ours: how far beyond its threshold the rate is, in parts of it, times how long, until the ladder
# moves: down at half of the threshold after 0.2 s, a tenth below it after 1 s. A fall is answered soon,
# since 30 pictures at the coarsest quantizer spoil what the next ones are predicted from.
DOWN_US = 100_000
UP_US = 500_000
# Ours: a rate far beyond counts as this far.
BEYOND_MAX = 1.0
# Ours: what the path measures of headers takes a second to follow a change. Up waits longer: a pace that
# goes to and fro looks worse than a slow one.
HOLD_DOWN_US = 1_000_000
HOLD_UP_US = 2_000_000
# Ours: a gap between two decisions counts for at most this long.
GAP_MAX_US = 500_000
# Ours: captures may exceed a rung by this part of it before every second one is left out. With it 30 a
# second become 15 and 10, 25 become 12.5, 20 become 10 on the last rung alone and 15 stay, none of them
# so near to another choice that unsteady captures would swing.
SLACK = 0.45


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """About max_fps pictures a second: from below down_bps on until above up_bps, headers included."""

    max_fps: int
    down_bps: int
    up_bps: int


# Ours: where fewer pictures gave the better VMAF of what is on the screen, repeats scored too, headers
# paid for (the README's table): 60 against 30 below 170 kbit/s (the project's scene), 30 against 15 below
# 65 to 130, 15 against 10 below 25 to 45, hardly depending on the size. 20 of 30 was between 30 and 15
# everywhere, 7.5 better than 10 only below 25. The thresholds are low in these ranges: VMAF knows nothing
# of fluent motion, and fewer pictures are larger ones that take longer to send.
RUNGS = (
    Rung(max_fps=30, down_bps=150_000, up_bps=190_000),
    Rung(max_fps=15, down_bps=60_000, up_bps=76_000),
    Rung(max_fps=11, down_bps=26_000, up_bps=34_000),
)


class FrameRateLadder:
    """Keeps every picture, or every second, third, … one, by capture times. One for each stream.

    Down it goes rung by rung, up to where the rate belongs.
    """

    def __init__(self) -> None:
        self._clock = CaptureClock()
        self._taken = 0
        """How many rungs are taken; 0 keeps all pictures."""
        self._kept_us: int | None = None
        self._decided_us: int | None = None
        self._held_since_us: int | None = None
        self._starved_us = 0.0
        self._thriven_us = 0.0

    @property
    def every(self) -> int:
        """One of how many pictures is kept; above 1 the rate limits their number."""
        if not self._taken:
            return 1
        capture_fps = MICRO / self._clock.gap_us
        return max(1, math.ceil(capture_fps / RUNGS[self._taken - 1].max_fps - SLACK))

    @property
    def interval_us(self) -> int:
        """The time to expect between two pictures that are kept."""
        return self.every * self._clock.gap_us

    @property
    def gap_us(self) -> int:
        """The time to expect between two captured pictures."""
        return self._clock.gap_us

    def keeps(self, capture_us: int, *, at_once: bool = False, at_least: int = 1) -> bool:
        """Whether to send the picture captured at that time; at_once is for one that cannot wait.

        at_least tells that others keep one of so many. Asked once for every picture.
        """
        self._clock.picture(capture_us)
        gap_us, kept_us = self._clock.gap_us, self._kept_us
        interval_us = max(self.every, at_least) * gap_us
        wait_us = 0 if at_once or kept_us is None else interval_us - gap_us // 2
        if kept_us is not None and 0 <= capture_us - kept_us < wait_us:
            return False
        self._kept_us = capture_us
        return True

    def decide(self, target_bps: int, *, now_us: int) -> None:
        """Take the encoder's rate, headers not included; may change which pictures are kept next.

        Told just before a picture is encoded.
        """
        wire_bps = target_bps + HEADER_BITS * MICRO // self.interval_us
        if self._decided_us is None:
            self._taken = sum(wire_bps < rung.down_bps for rung in RUNGS)
            self._decided_us = now_us
            return
        elapsed_us = min(max(now_us - self._decided_us, 0), GAP_MAX_US)
        self._decided_us = now_us
        self._weigh(wire_bps, elapsed_us=elapsed_us)
        if self._starved_us > DOWN_US and self._has_held(HOLD_DOWN_US, now_us=now_us):
            self._move(self._taken + 1, now_us=now_us)
        elif self._thriven_us > UP_US and self._has_held(HOLD_UP_US, now_us=now_us):
            left = sum(wire_bps < rung.up_bps for rung in RUNGS[: self._taken])
            self._move(min(left, self._taken - 1), now_us=now_us)

    def _weigh(self, wire_bps: int, *, elapsed_us: int) -> None:
        if self._taken < len(RUNGS):
            beyond = 1 - wire_bps / RUNGS[self._taken].down_bps
            self._starved_us = max(0.0, self._starved_us + elapsed_us * beyond)
        if self._taken > 0:
            beyond = min(wire_bps / RUNGS[self._taken - 1].up_bps - 1, BEYOND_MAX)
            self._thriven_us = max(0.0, self._thriven_us + elapsed_us * beyond)

    def _has_held(self, hold_us: int, *, now_us: int) -> bool:
        return self._held_since_us is None or now_us - self._held_since_us >= hold_us

    def _move(self, taken: int, *, now_us: int) -> None:
        """A rung that keeps the same pictures, such as 30 of 30, need not be held."""
        before = self.every
        self._taken, self._starved_us, self._thriven_us = taken, 0.0, 0.0
        if self.every != before:
            self._held_since_us = now_us
