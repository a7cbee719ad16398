"""A long TCP-like flow that has always something to send, sans-I/O: the window of NewReno.

As RFC 9002's appendix B writes it down, which is RFC 5681 and 6582 with selective acknowledgements:
slow start, a packet more a round trip after, half after a loss, once a window. Every packet that
arrives is acknowledged. What was lost is not told from what is new: the flow has no end.
"""

from __future__ import annotations

from itertools import takewhile

# An Ethernet payload, which TCP's full segments fill.
PACKET_BYTES = 1500
# RFC 6928 2: ten segments at first. RFC 5681 3.1: two at least after a loss.
INITIAL_WINDOW_BYTES = 10 * PACKET_BYTES
MIN_THRESHOLD_BYTES = 2 * PACKET_BYTES
# Linux's tcp_rmem: a receiver buffers no more than that by default.
MAX_WINDOW_BYTES = 6_291_456
# RFC 9002 6.1.1 kPacketThreshold, RFC 6675's DupThresh.
REORDERING_PACKETS = 3
# RFC 6298 2; Linux waits 200 ms at the least (TCP_RTO_MIN), not the second of the RFC.
INITIAL_TIMEOUT_US = 1_000_000
MIN_TIMEOUT_US = 200_000
MAX_TIMEOUT_US = 60_000_000


class AimdFlow:
    """Times are of one clock. Packets are numbered in the order of sending."""

    def __init__(self) -> None:
        self.window_bytes = INITIAL_WINDOW_BYTES
        self._threshold_bytes: int | None = None
        self._in_flight: dict[int, int] = {}
        self._next = 0
        self._recovered_from = 0
        self._rtt_us: int | None = None
        self._deviation_us = 0
        self._timeout_us = INITIAL_TIMEOUT_US
        self._timer_us: int | None = None

    def poll_packets(self, *, now_us: int) -> list[int]:
        """Numbers of the packets, of PACKET_BYTES each, to send now."""
        sent = []
        while (len(self._in_flight) + 1) * PACKET_BYTES <= self.window_bytes:
            if not self._in_flight:
                self._timer_us = now_us + self._timeout_us
            self._in_flight[self._next] = now_us
            sent.append(self._next)
            self._next += 1
        return sent

    def handle_ack(self, number: int, *, now_us: int) -> None:
        """Take the acknowledgement of a packet; of one that counts as lost it comes too late."""
        sent_us = self._in_flight.pop(number, None)
        if sent_us is None:
            return
        self._measure(now_us - sent_us)
        # Numbers are in order of sending, and so is the dictionary.
        lost = list(takewhile(lambda n: n <= number - REORDERING_PACKETS, self._in_flight))
        for missing in lost:
            del self._in_flight[missing]
        if lost and lost[-1] >= self._recovered_from:
            self._shrink()
        elif number >= self._recovered_from:
            self._grow()
        self._timer_us = now_us + self._timeout_us if self._in_flight else None

    def poll_timeout(self) -> int | None:
        """When handle_timeout() is to be called if no acknowledgement comes."""
        return self._timer_us

    def handle_timeout(self, *, now_us: int) -> None:
        """Nothing was heard for long: begin with one packet again (RFC 5681 3.1, RFC 6298 5)."""
        if self._timer_us is None or now_us < self._timer_us:
            return
        self._threshold_bytes = max(len(self._in_flight) * PACKET_BYTES // 2, MIN_THRESHOLD_BYTES)
        self.window_bytes = PACKET_BYTES
        self._in_flight.clear()
        self._recovered_from = self._next
        self._timeout_us = min(2 * self._timeout_us, MAX_TIMEOUT_US)
        self._timer_us = None

    def _grow(self) -> None:
        in_slow_start = self._threshold_bytes is None or self.window_bytes < self._threshold_bytes
        more = PACKET_BYTES if in_slow_start else PACKET_BYTES * PACKET_BYTES // self.window_bytes
        self.window_bytes = min(self.window_bytes + more, MAX_WINDOW_BYTES)

    def _shrink(self) -> None:
        self.window_bytes = max(self.window_bytes // 2, MIN_THRESHOLD_BYTES)
        self._threshold_bytes = self.window_bytes
        self._recovered_from = self._next

    def _measure(self, rtt_us: int) -> None:
        """RFC 6298 2."""
        if self._rtt_us is None:
            self._rtt_us, self._deviation_us = rtt_us, rtt_us // 2
        else:
            error_us = abs(self._rtt_us - rtt_us)
            self._deviation_us += (error_us - self._deviation_us) // 4
            self._rtt_us += (rtt_us - self._rtt_us) // 8
        timeout_us = self._rtt_us + 4 * self._deviation_us
        self._timeout_us = min(max(timeout_us, MIN_TIMEOUT_US), MAX_TIMEOUT_US)
