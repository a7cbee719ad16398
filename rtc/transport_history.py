"""What was sent under which transport-wide number, and what feedback may say of it.

Feedback is a stranger's word. It changes nothing unless it speaks of packets that were sent, of each once
(a packet reported missing may be reported once more, as arrived), at times that our own clock allows.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ratecontrol.bandwidth.messages import Feedback, PacketResult, SentPacket
from .arrival_clock import ArrivalClock
from .rtp.rtcp_transport_feedback import DELTA_US, REFERENCE_TIME_US, TransportFeedback
from .rtp.unwrap import Unwrapper

# ours: the longest feedback that is read; 15 s at 5 Mbps. Numbers of 16 bits stay unambiguous below 32768.
MAX_PACKETS = 8192
# ours: feedback that took longer is of no use (libwebrtc's kSendTimeHistoryWindow is 60 s).
KEEP_US = 10_000_000
# ours: an honest receiver speaks of a packet once or twice, or more where packets overtake each other.
STATUSES_PER_PACKET = 16
MAX_STATUSES = 2 * MAX_PACKETS


@dataclass(slots=True)
class FeedbackCounters:
    """Feedback messages, those ignored as a whole and why, and single statuses ignored."""

    received: int = 0
    refused_floods: int = 0
    refused_times: int = 0
    without_news: int = 0
    unknown_numbers: int = 0
    repeated_numbers: int = 0


@dataclass(slots=True)
class _Entry:
    packet: SentPacket
    # Bytes sent up to and including it.
    total_bytes: int
    is_missing: bool = False
    has_arrived: bool = False


class TransportHistory:
    """The packets of the last KEEP_US, by unwrapped number; memory and work are bounded."""

    def __init__(self) -> None:
        self.counters = FeedbackCounters()
        self._entries: dict[int, _Entry] = {}
        self._oldest = 0
        self._next = 0
        self._sent_bytes = 0
        # Bytes sent up to the newest packet that feedback spoke of, or that is kept no longer.
        self._settled_bytes = 0
        self._statuses_left = MAX_STATUSES
        self._reference = Unwrapper(24)
        self._clock = ArrivalClock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def in_flight_bytes(self) -> int:
        """What was sent after the newest packet that feedback spoke of, and within KEEP_US.

        Feedback on older ones was lost; they are not under way any more.
        """
        return self._sent_bytes - self._settled_bytes

    def add(self, size_bytes: int, *, probe_id: int | None, now_us: int) -> SentPacket:
        """A number for a packet that leaves now."""
        packet = SentPacket(
            number=self._next, sent_us=now_us, size_bytes=size_bytes, probe_id=probe_id
        )
        self._sent_bytes += size_bytes
        self._entries[self._next] = _Entry(packet=packet, total_bytes=self._sent_bytes)
        self._next += 1
        self._statuses_left = min(MAX_STATUSES, self._statuses_left + STATUSES_PER_PACKET)
        self._prune(now_us)
        return packet

    def handle_feedback(self, message: TransportFeedback, *, now_us: int) -> Feedback | None:
        """What the message says that is new and possible; None when that is nothing."""
        self.counters.received += 1
        if len(message.statuses) > self._statuses_left:
            self.counters.refused_floods += 1
            return None
        self._statuses_left -= len(message.statuses)
        reference = self._reference.peek(message.reference_time)
        results = self._accepted(message, reference * REFERENCE_TIME_US, now_us=now_us)
        if results is None:
            self.counters.refused_times += 1
            return None
        if not results:
            self.counters.without_news += 1
            return None
        self._reference.unwrap(message.reference_time)
        self._note(results)
        return Feedback(now_us=now_us, results=tuple(results))

    def _accepted(
        self, message: TransportFeedback, reference_us: int, *, now_us: int
    ) -> list[PacketResult] | None:
        """Results in order of sending; None when their times are impossible."""
        missing: list[_Entry] = []
        arrived: list[_Entry] = []
        times: list[tuple[int, int]] = []
        # The newest number that the 16 bits can mean and that was sent.
        newest = self._next - 1
        number = newest - ((newest - message.base_sequence) & 0xFFFF)
        arrival_us = reference_us
        for status in message.statuses:
            if status is not None:
                arrival_us += status * DELTA_US
            entry = self._news(number, has_arrived=status is not None)
            if entry is not None and status is not None:
                arrived.append(entry)
                times.append((entry.packet.sent_us, arrival_us))
            elif entry is not None:
                missing.append(entry)
            number += 1
        if times:
            checked = self._clock.accept(times, now_us=now_us)
            if checked is None:
                return None
        else:
            checked = []
        results = [
            PacketResult(packet=entry.packet, arrival_us=time_us)
            for entry, time_us in zip(arrived, checked, strict=True)
        ]
        results += [PacketResult(packet=entry.packet, arrival_us=None) for entry in missing]
        return sorted(results, key=lambda result: result.packet.number)

    def _news(self, number: int, *, has_arrived: bool) -> _Entry | None:
        """The packet, if this is new of it."""
        entry = self._entries.get(number)
        if entry is None:
            self.counters.unknown_numbers += 1
            return None
        if entry.has_arrived or (entry.is_missing and not has_arrived):
            self.counters.repeated_numbers += 1
            return None
        return entry

    def _note(self, results: list[PacketResult]) -> None:
        for result in results:
            entry = self._entries[result.packet.number]
            entry.has_arrived = result.arrival_us is not None
            entry.is_missing = True
        self._settled_bytes = max(self._settled_bytes, entry.total_bytes)

    def _prune(self, now_us: int) -> None:
        """Dictionaries keep their order: the oldest comes first."""
        while len(self._entries) > MAX_PACKETS or (
            now_us - self._entries[self._oldest].packet.sent_us > KEEP_US
        ):
            entry = self._entries.pop(self._oldest)
            self._settled_bytes = max(self._settled_bytes, entry.total_bytes)
            self._oldest += 1
