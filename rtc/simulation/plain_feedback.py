"""Transport-wide feedback as a browser gives it: at intervals alone, whatever happens on the path."""

from __future__ import annotations

from ..receive_path import ReceivePath
from ..sliding_sum import SlidingSum

# libwebrtc TransportSequenceNumberFeedbackGenerator: kDefaultInterval, kMinInterval, kMaxInterval; a
# report of kTwccReportSize bytes takes kBandwidthFraction of the rate.
DEFAULT_INTERVAL_US = 100_000
MIN_INTERVAL_US = 50_000
MAX_INTERVAL_US = 250_000
REPORT_BYTES = 68
BANDWIDTH_RATIO = 0.05

_WINDOW_US = 1_000_000


class PlainReceivePath(ReceivePath):
    """Holds feedback back until libwebrtc would give it.

    libwebrtc takes its share of what the receiver itself sends; here it is of what comes in, which
    in a call of like directions is the same.
    """

    def __init__(self, *, ssrc: int) -> None:
        """ssrc is the one that our RTCP is sent from."""
        super().__init__(ssrc=ssrc)
        self._received = SlidingSum(window_us=_WINDOW_US)
        self._opens_us: int | None = None

    def handle_packet(
        self,
        transport_number: int,
        *,
        size_bytes: int,
        arrival_us: int,
        ssrc: int,
        abs_send_time: int | None = None,
    ) -> None:
        """See ReceivePath; a growing queue is not told at once."""
        self._received.add(size_bytes, now_us=arrival_us)
        if self._opens_us is None:
            self._opens_us = arrival_us + DEFAULT_INTERVAL_US
        super().handle_packet(
            transport_number, size_bytes=size_bytes, arrival_us=arrival_us, ssrc=ssrc
        )

    def poll_rtcp(self, *, now_us: int) -> list[bytes]:
        """See ReceivePath."""
        if self._opens_us is None or now_us < self._opens_us:
            return []
        datagrams = super().poll_rtcp(now_us=now_us)
        if datagrams:
            self._opens_us = now_us + self._interval_us(now_us)
        return datagrams

    def poll_timeout(self) -> int | None:
        """See ReceivePath."""
        due_us = super().poll_timeout()
        return due_us if due_us is None or self._opens_us is None else max(due_us, self._opens_us)

    def _interval_us(self, now_us: int) -> int:
        received_bytes = self._received.total(now_us=now_us)
        if not received_bytes:
            return MAX_INTERVAL_US
        # A window that is not full yet counts for what it spans.
        span_us = self._received.age_us(now_us=now_us)
        interval_us = int(REPORT_BYTES * span_us / (BANDWIDTH_RATIO * received_bytes))
        return max(MIN_INTERVAL_US, min(interval_us, MAX_INTERVAL_US))
