"""How long pictures are held back so that they go with their sound. Pure.

Sound usually comes later: its buffer waits for several packets, pictures wait for none. Holding the
pictures back is all that this can do; pictures that come later than their sound stay as they are.
"""

from __future__ import annotations

from collections import deque
from statistics import median_low

from .audio_clock import AudioClock

# ITU-R BT.1359-1 figure 2: viewers notice sound that is 45 ms early or 125 ms late. Pictures are
# shown this much before their sound, within what is not noticed, since each ms held is latency.
LEAD_US = 40_000
# ours: no more latency than this for the sake of sound. On loopback pictures are shown after 15 ms and
# sound is heard after 100 to 120, so 45 ms are asked for; 60 keep the median below 80 ms.
MAX_HOLD_US = 60_000
# ours: pictures move against their sound at most this fast, as PlayoutDelay falls.
FOLLOW_US_PER_S = 50_000
# ours: two seconds of sound, at 20 ms a packet; its median stands for how late sound is at present.
SOUND_PACKETS = 100
# ours: sound that paused this long, or comes this much later than pictures, is not played with them.
MAX_PAUSE_US = 1_000_000
MAX_APART_US = 1_000_000


class AvSync:
    """Follows how late the sound of a stream is, against the pictures of the same stream.

    Times of capture are on the sender's wall clock, all others on the receiver's; only differences
    between sound and pictures count. Without sound nothing is held back.
    """

    def __init__(self) -> None:
        self._player = AudioClock()
        self._latencies_us: deque[int] = deque(maxlen=SOUND_PACKETS)
        self._sound_us: int | None = None
        self._hold_us = 0
        self._now_us: int | None = None

    def handle_sound(self, *, captured_us: int, length_us: int, now_us: int) -> None:
        """A packet of sound is handed out to be played; captured_us is its first sample's."""
        if self._sound_us is not None and now_us - self._sound_us > MAX_PAUSE_US:
            self._latencies_us.clear()
        self._sound_us = now_us
        self._latencies_us.append(
            self._player.arrived(now_us, capture_us=captured_us, length_us=length_us)
        )

    def hold_us(self, *, captured_us: int, earliest_us: int, now_us: int) -> int:
        """By how much to hold pictures back from now on.

        earliest_us is when the picture captured at captured_us would be shown without any hold.
        """
        wanted_us = self._wanted_us(earliest_us - captured_us, now_us)
        elapsed_us = 0 if self._now_us is None else now_us - self._now_us
        self._now_us = now_us
        step_us = FOLLOW_US_PER_S * elapsed_us // 1_000_000
        self._hold_us = min(max(wanted_us, self._hold_us - step_us), self._hold_us + step_us)
        return self._hold_us

    def _wanted_us(self, picture_latency_us: int, now_us: int) -> int:
        if self._sound_us is None or now_us - self._sound_us > MAX_PAUSE_US:
            return 0
        apart_us = median_low(self._latencies_us) - picture_latency_us
        if apart_us > MAX_APART_US:
            return 0
        return min(max(0, apart_us - LEAD_US), MAX_HOLD_US)
