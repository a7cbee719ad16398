"""Which of the negotiated codecs suits the rate: H.264 as long as it holds its delay, AV1 below that."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...codecs.types import Codec

# Ours: below this rate for each pixel of the picture's mean side libx264, which cannot repeat a picture,
# leaves the delay bound of 200 ms: at 182 kbit/s of 1280x720, 91 of 640x360, 60 of 352x288 (measured
# with key frames every 3 s: 216 to 232 ms at 133, 214 to 222 at 53, 221 at 52; 189 to 205, 177 to 227 and 184
# just above). Its VMAF is below half of AV1's there.
HELD_BPS_PER_SIDE_PX = 190
# Ours: how far above that it is trusted again.
BACK_RATIO = 1.6
# Ours: how long the rate must be too low, and high enough: a switch costs a key frame.
DOWN_US = 1_000_000
UP_US = 10_000_000
# Ours: how long AV1 is kept at least; twice as long after a return that did not last as long as that.
HOLD_US = 30_000_000
HOLD_MAX_US = 480_000_000


class CodecLadder:
    """Proposes a codec by the rate; codecs are in the application's order. One for each stream.

    From H.264 it goes to AV1 wherever both may be used; from AV1 to H.264 only where the application
    named that first.
    """

    def __init__(self, codecs: Sequence[Codec]) -> None:
        self._can_leave = set(Codec) <= set(codecs)
        self._can_return = self._can_leave and codecs[0] is Codec.H264
        self._crossed_us: int | None = None
        """Since when the rate speaks against the codec in use."""
        self._returned_us: int | None = None
        self._left_us: int | None = None
        self._hold_us = HOLD_US

    def propose(
        self, codec: Codec, *, target_bps: int, picture: tuple[int, int], now_us: int
    ) -> Codec:
        """The codec for the next picture, of this width and height, where codec is in use."""
        held_bps = held_by_h264_bps(picture)
        if codec is Codec.H264:
            against = self._can_leave and target_bps < held_bps
            if self._has_lasted(DOWN_US, against=against, now_us=now_us):
                self._leave(now_us)
                return Codec.AV1
        else:
            against = self._can_return and target_bps >= BACK_RATIO * held_bps
            holds = self._left_us is not None and now_us - self._left_us < self._hold_us
            if self._has_lasted(UP_US, against=against, now_us=now_us) and not holds:
                self._crossed_us, self._returned_us = None, now_us
                return Codec.H264
        return codec

    def _has_lasted(self, wait_us: int, *, against: bool, now_us: int) -> bool:
        if not against:
            self._crossed_us = None
            return False
        if self._crossed_us is None:
            self._crossed_us = now_us
        return now_us - self._crossed_us >= wait_us

    def _leave(self, now_us: int) -> None:
        """A return that lasted no longer than its hold was a mistake: wait twice as long next time."""
        if self._returned_us is not None:
            failed = now_us - self._returned_us < self._hold_us
            self._hold_us = min(2 * self._hold_us, HOLD_MAX_US) if failed else HOLD_US
        self._crossed_us, self._left_us = None, now_us


def held_by_h264_bps(picture: tuple[int, int]) -> int:
    """The least rate at which H.264 keeps its delay for pictures of this width and height."""
    return round(HELD_BPS_PER_SIDE_PX * math.sqrt(math.prod(picture)))
