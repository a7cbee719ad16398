"""Predicts the queue that the next packet will meet, from what was sent since feedback last told of it."""

from __future__ import annotations

from collections import deque

from .messages import SentPacket

# ours: what is remembered of a path that never answers; a second at 5 Mbps.
MAX_PACKETS = 600
# ours: the round trip without queue is the least of these last seconds.
RTT_WINDOW_US = 5_000_000


class InFlight:
    """A queue that fills with what is sent and drains at the capacity, corrected by each feedback.

    A controller that waits for feedback overshoots by all that it sends meanwhile; this one counts
    it at once. Queues are in microseconds at the capacity.
    """

    def __init__(self) -> None:
        self._packets: deque[tuple[SentPacket, float]] = deque()
        self._queue_us = 0.0
        self._at_us = 0
        self._rtts: deque[tuple[int, float]] = deque()
        self._base_rtt_us: float | None = None
        self.last_sent_us: int | None = None
        """When a packet left last."""

    @property
    def is_empty(self) -> bool:
        """Whether everything sent was answered."""
        return not self._packets

    @property
    def base_rtt_us(self) -> float | None:
        """From sending to feedback, without queue; None before the first feedback."""
        return self._base_rtt_us

    def sent(self, packet: SentPacket, *, capacity_bps: float) -> None:
        """Take a packet that leaves."""
        self.last_sent_us = packet.sent_us
        self._append(packet, capacity_bps)
        if len(self._packets) > MAX_PACKETS:
            self._packets.popleft()

    def answered(
        self, packet: SentPacket, *, queue_us: float, capacity_bps: float, now_us: int
    ) -> None:
        """Feedback told that this packet waited for queue_us; what left after it is still in flight."""
        # The queue is the peer's word; what it says may not make the round trip less than none.
        self._measure_rtt(max(0.0, now_us - packet.sent_us - queue_us), now_us)
        waiting = [p for p, _ in self._packets if p.number > packet.number]
        self._packets.clear()
        self._queue_us = queue_us + packet.size_bytes * 8e6 / capacity_bps
        self._at_us = packet.sent_us
        for later in waiting:
            self._append(later, capacity_bps)

    def queue_us(self, now_us: int) -> float:
        """The queue that a packet sent now would meet, if the path is as it was."""
        return max(0.0, self._queue_us - (now_us - self._at_us))

    def late_us(self, now_us: int, *, allowance_us: float) -> float:
        """By how much the next answer is later than the predicted queue explains, beyond allowance_us."""
        if not self._packets or self._base_rtt_us is None:
            return 0.0
        packet, queue_us = self._packets[0]
        expected_us = packet.sent_us + self._base_rtt_us + queue_us + allowance_us
        return max(0.0, now_us - expected_us)

    def _append(self, packet: SentPacket, capacity_bps: float) -> None:
        sent_us = max(packet.sent_us, self._at_us)
        self._queue_us = self.queue_us(sent_us) + packet.size_bytes * 8e6 / capacity_bps
        self._at_us = sent_us
        self._packets.append((packet, self._queue_us))

    def _measure_rtt(self, rtt_us: float, now_us: int) -> None:
        rtts = self._rtts
        while rtts and rtts[-1][1] >= rtt_us:
            rtts.pop()
        rtts.append((now_us, rtt_us))
        while rtts[0][0] < now_us - RTT_WINDOW_US:
            rtts.popleft()
        self._base_rtt_us = rtts[0][1]
