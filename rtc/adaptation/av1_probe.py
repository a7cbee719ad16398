"""What AV1 would take a receiver that is sent H.264: a kept key frame is decoded again from time to time. Pure.

The time that the key frame takes now, against what it took when it came, is how the device's speed has changed; frames
then took so much a pixel. So the sender knows when AV1 would be decoded in time again, without trying.
"""

from __future__ import annotations

from collections import deque

from ...codecs.types import Codec
from ..messages import ReceivedFrame
from ..percentile import percentile

# ours: a peer that recovers should be sent AV1 within 30 s; the sender's answer to two reports takes 2 of them.
FIRST_INTERVAL_US = 5_000_000
LONGEST_INTERVAL_US = 15_000_000
# ours: each interval is half as long again, so a key frame that takes 100 ms costs 2 % of a core at first, then 0.7 %.
GROWTH = (3, 2)
# ours: a second of frames at 30 fps, decoded on a device as fast as when the key frame was.
FRAMES_AFTER = 30

# Times are kept in picoseconds a pixel, to be integers.
_PS_PER_US = 1_000_000


class Av1Probe:
    """Keeps the newest AV1 key frame, and says when to decode it again."""

    def __init__(self) -> None:
        self._key: ReceivedFrame | None = None
        self._key_us = self._key_per_pixel_ps = 0
        self._per_pixel_ps: deque[int] = deque(maxlen=FRAMES_AFTER)
        self._due_us: int | None = None
        self._is_under_way = False
        self._probed_us: int | None = None
        self._interval_us = FIRST_INTERVAL_US

    def decoded(self, frame: ReceivedFrame, *, decode_us: int, pixels: int, now_us: int) -> None:
        """Note a frame that was decoded to a picture of so many pixels."""
        if frame.codec is not Codec.AV1:
            if self._key is not None and self._due_us is None and not self._is_under_way:
                self._due_us = now_us + self._interval_us
            return
        self._stop()
        per_pixel_ps = decode_us * _PS_PER_US // pixels
        if frame.key:
            self._key = frame
            self._key_us = max(1, decode_us)
            self._per_pixel_ps.clear()
            self._key_per_pixel_ps = per_pixel_ps
        elif len(self._per_pixel_ps) < FRAMES_AFTER:
            self._per_pixel_ps.append(per_pixel_ps)

    def poll(self, *, now_us: int) -> ReceivedFrame | None:
        """The key frame, when it is to be decoded; its time comes back through probed()."""
        if self._due_us is None or now_us < self._due_us:
            return None
        self._due_us, self._is_under_way = None, True
        return self._key

    def probed(self, decode_us: int | None, *, now_us: int) -> None:
        """What the key frame took; None where it was not decoded, which is not tried again."""
        if not self._is_under_way:
            return
        self._is_under_way = False
        if decode_us is None:
            self._key = None
            return
        self._probed_us = max(1, decode_us)
        times, of = GROWTH
        self._interval_us = min(self._interval_us * times // of, LONGEST_INTERVAL_US)
        self._due_us = now_us + self._interval_us

    def decode_us(self, *, pixels: int) -> int | None:
        """What an AV1 frame of so many pixels would take now; None where that was not probed."""
        if self._probed_us is None:
            return None
        of_others_ps = percentile(self._per_pixel_ps, 50)
        then_ps = pixels * (self._key_per_pixel_ps if of_others_ps is None else of_others_ps)
        return max(1, round(then_ps * self._probed_us / (self._key_us * _PS_PER_US)))

    def poll_timeout(self) -> int | None:
        """When poll() has the key frame."""
        return self._due_us

    def _stop(self) -> None:
        """AV1 is being received: nothing is probed."""
        self._due_us = self._probed_us = None
        self._is_under_way = False
        self._interval_us = FIRST_INTERVAL_US
