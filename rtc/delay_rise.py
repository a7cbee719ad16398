"""Tells when packets begin to queue: their one-way delay grows."""

from __future__ import annotations

from .rtp.unwrap import Unwrapper
from .windowed_minimum import WindowedMinimum

# ours: the delay of an idle path is the least of 10 s; clocks drift apart by 1 ms in that time.
BASE_WINDOW_US = 10_000_000
# ours: a packet of 1200 bytes takes 16 ms at 600 kbps, so that frames of several packets do not
# alarm by themselves where that is the rate.
QUEUE_US = 15_000
# ours: a delay that was there within the last second is no news.
NEWS_WINDOW_US = 1_000_000
# ours: send times have steps of 4 us, and timers that are late by less are usual.
NEWS_US = 1_000

_STEP_US = 10_000
_FRACTION_BITS = 18  # abs-send-time: 6.18 fixed point seconds
_SEND_TIME_BITS = 24


class DelayRise:
    """Compares one-way delays with each other; the clocks' offset is unknown and does not matter."""

    def __init__(self) -> None:
        self._send_times = Unwrapper(_SEND_TIME_BITS)
        self._base = WindowedMinimum(window_us=BASE_WINDOW_US)
        # Of delays turned negative: their least is the longest delay.
        self._longest = WindowedMinimum(window_us=NEWS_WINDOW_US)

    def add(self, abs_send_time: int, *, arrival_us: int) -> bool:
        """Take a packet; whether it queued for long, and longer than any of the last second.

        abs_send_time is the header extension's value.
        """
        sent_us = self._send_times.unwrap(abs_send_time) * 1_000_000 >> _FRACTION_BITS
        delay_us = arrival_us - sent_us
        step_us = arrival_us - arrival_us % _STEP_US
        queue_us = delay_us - self._base.add(delay_us, now_us=step_us)
        longest = self._longest.least(now_us=step_us)
        self._longest.add(-delay_us, now_us=step_us)
        is_news = longest is None or delay_us >= NEWS_US - longest
        return is_news and queue_us >= QUEUE_US
