"""How many bits sound takes where its path is narrow: its share, and no more. Pure.

Sound is not paced, and no transport-wide feedback tells of it: to the estimator it is a path that carries
less. Where little is left for pictures sound gives way, and takes back what it gave once there is enough.
"""

from __future__ import annotations

# ours: speech in mono is good at 32 kbps (RFC 6716 2.1.1: fullband speech 28 to 40), and with 60 bytes of headers
# on each of 50 packets a second it leaves 90 of 150 kbps to pictures; aiortc's 96 kbps leave 20.
DEFAULT_AUDIO_BPS = 32_000
# RFC 6716 2.1.1: below fullband speech (28 to 40 kbps) comes wideband speech (16 to 20).
STEPS_BPS = (DEFAULT_AUDIO_BPS, 24_000, 16_000)
# ours: where pictures have less than this, 8 kbps are more to them than to sound.
NARROW_BPS = 100_000
# ours: a step back takes 8 kbps from pictures; they keep more than NARROW_BPS then.
WIDE_PERCENT = 130
# ours: longer than an estimate's dip after one queue; the drop of a link shows in every second.
DOWN_AFTER_US = 1_000_000
UP_AFTER_US = 3_000_000


class AudioRate:
    """Goes down a step for each second with too little for pictures, and up for three with enough."""

    def __init__(self, highest_bps: int) -> None:
        self._steps_bps = (highest_bps, *(bps for bps in STEPS_BPS if bps < highest_bps))
        self._step = 0
        self._direction = 0
        self._since_us = 0

    @property
    def bps(self) -> int:
        """The rate in force, headers not counted."""
        return self._steps_bps[self._step]

    def update(self, available_bps: int | None, *, wanted_bps: int, now_us: int) -> int:
        """The rate from now on.

        available_bps is what the path is thought to carry of pictures; None where nobody estimates it.
        Pictures never take more than wanted_bps.
        """
        direction = _direction(available_bps, wanted_bps)
        if direction != self._direction:
            self._direction, self._since_us = direction, now_us
        after_us = DOWN_AFTER_US if direction > 0 else UP_AFTER_US
        step = self._step + direction
        if now_us - self._since_us >= after_us and 0 <= step < len(self._steps_bps):
            self._step, self._since_us = step, now_us
        return self.bps


def _direction(available_bps: int | None, wanted_bps: int) -> int:
    """1 for a step down, -1 for one up, 0 for none."""
    narrow_bps = min(NARROW_BPS, wanted_bps)
    if available_bps is None or 100 * available_bps >= WIDE_PERCENT * narrow_bps:
        return -1
    return 1 if available_bps < narrow_bps else 0
