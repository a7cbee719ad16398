"""The receiving end of a path, sans-I/O: packets in, transport-wide feedback out.

One ReceivePath serves all streams of a transport. After each call the driver drains poll_rtcp() and
poll_timeout().
"""

from __future__ import annotations

from .datagram import RTCP_OVERHEAD_BYTES
from .delay_rise import DelayRise
from .rtcp_share import MAX_INTERVAL_US, RtcpShare
from .rtp.packet_status import CHUNK_BYTES, TWO_BIT_SYMBOLS
from .rtp.rtcp import serialize_rtcp
from .rtp.rtcp_transport_feedback import MAX_ARRIVALS, transport_feedbacks
from .transport_arrivals import TransportArrivals

# draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1: the fixed part and a large delta.
_FEEDBACK_BYTES = 20
_DELTA_BYTES = 2


class ReceivePath:
    """Tells the sender when its packets arrived, within RTCP's share of what is received.

    Feedback goes out every 25 to 100 ms, as the share allows, and only when packets came since the
    last one. It goes out at once, where the share allows, when packets begin to queue or one is
    missing. One feedback in 100 ms is never refused.
    """

    def __init__(self, *, ssrc: int) -> None:
        """ssrc is the one that our RTCP is sent from."""
        self._ssrc = ssrc
        self._media_ssrc = 0
        self._arrivals = TransportArrivals()
        self._rise = DelayRise()
        self._share = RtcpShare()
        self._feedback_count = 0
        self._last_us: int | None = None
        self._due_us: int | None = None

    def handle_packet(
        self,
        transport_number: int,
        *,
        size_bytes: int,
        arrival_us: int,
        ssrc: int,
        abs_send_time: int | None = None,
    ) -> None:
        """Take an RTP packet's transport-wide sequence number (16 bits); size_bytes is the packet's.

        Without abs_send_time a growing queue is not told at once.
        """
        self._share.received(size_bytes, now_us=arrival_us)
        if not self._arrivals.add(transport_number, arrival_us=arrival_us):
            return
        self._media_ssrc = ssrc
        urgent = self._arrivals.skipped > 0
        if abs_send_time is not None:
            urgent |= self._rise.add(abs_send_time, arrival_us=arrival_us)
        due_us = self._next_us(arrival_us, urgent=urgent)
        self._due_us = due_us if self._due_us is None else min(due_us, self._due_us)

    def handle_rtcp_sent(self, size_bytes: int, *, now_us: int) -> None:
        """Count other RTCP that goes out on the path: it has the same share."""
        self._share.sent_other(size_bytes, now_us=now_us)

    def poll_rtcp(self, *, now_us: int) -> list[bytes]:
        """Feedback that is due, each a datagram (reduced size, RFC 5506)."""
        if self._due_us is None or now_us < self._due_us:
            return []
        latest_us = self._latest_us(now_us)
        if now_us < latest_us and not self._share.allows(self._size_bytes(), now_us=now_us):
            self._due_us = latest_us
            return []
        self._due_us, self._last_us = None, now_us
        base_number = self._arrivals.next_number
        feedbacks = transport_feedbacks(
            self._arrivals.take(),
            base_number=base_number,
            feedback_count=self._feedback_count,
            sender_ssrc=self._ssrc,
            media_ssrc=self._media_ssrc,
        )
        self._feedback_count += len(feedbacks)
        datagrams = [serialize_rtcp([feedback]) for feedback in feedbacks]
        for data in datagrams:
            self._share.sent_feedback(len(data), now_us=now_us)
        return datagrams

    def poll_timeout(self) -> int | None:
        """When feedback is due; None while there is nothing to tell."""
        return self._due_us

    def _next_us(self, now_us: int, *, urgent: bool) -> int:
        size_bytes = self._size_bytes()
        if not self._share.allows(size_bytes, now_us=now_us):
            return self._latest_us(now_us)
        if urgent or self._last_us is None:
            return now_us
        interval_us = self._share.interval_us(size_bytes, now_us=now_us)
        return max(now_us, self._last_us + interval_us)

    def _latest_us(self, now_us: int) -> int:
        return now_us if self._last_us is None else max(now_us, self._last_us + MAX_INTERVAL_US)

    def _size_bytes(self) -> int:
        """No less than what the next feedback takes, and seldom more than a byte a packet more."""
        arrivals = self._arrivals.most_taken
        # A packet is at worst in a chunk of its own, behind one for those that are missing.
        chunks = min(-(-self._arrivals.span // TWO_BIT_SYMBOLS), 2 * arrivals)
        words = -(-(_FEEDBACK_BYTES + chunks * CHUNK_BYTES + arrivals * _DELTA_BYTES) // 4)
        # Further datagrams have a few bytes more each: a fixed part, headers, and padding.
        further = (arrivals - 1) // MAX_ARRIVALS
        further_bytes = _FEEDBACK_BYTES + RTCP_OVERHEAD_BYTES + 8
        return 4 * words + further * further_bytes
