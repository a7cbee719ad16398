"""What has left and may be sent again: for retransmission, and to fill probes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from .outgoing_packet import OutgoingPacket

# ours: two seconds at 5 Mbps (libwebrtc's kMinSendSidePacketHistorySize is 600).
HISTORY_PACKETS = 1024
# ours: probes are filled with the newest packets, which a receiver may still lack.
PADDING_PACKETS = 8


@dataclass(slots=True)
class Repairable:
    """A packet that left, and the number that it had."""

    sequence_number: int
    outgoing: OutgoingPacket
    resent_us: int | None = None
    has_arrived: bool = False


class RepairHistory:
    """The newest packets of a stream by sequence number."""

    def __init__(self) -> None:
        self._packets: OrderedDict[int, Repairable] = OrderedDict()
        self._restart_id = 0
        self._paddings = 0

    def add(self, sequence_number: int, outgoing: OutgoingPacket) -> None:
        """Remember a packet that leaves."""
        self._packets[sequence_number] = Repairable(sequence_number, outgoing)
        while len(self._packets) > HISTORY_PACKETS:
            self._packets.popitem(last=False)

    def restart(self, frame_id: int) -> None:
        """This frame, which is on its way, needs nothing of those before it."""
        self._restart_id = frame_id

    def get(self, sequence_number: int) -> Repairable | None:
        """The packet that left with this number, if it is remembered."""
        return self._packets.get(sequence_number)

    def arrived(self, sequence_number: int) -> None:
        """The receiver has the packet, whichever way it came."""
        if (sent := self._packets.get(sequence_number)) is not None:
            sent.has_arrived = True

    def due(
        self, lost: Iterable[int], *, now_us: int, rtt_us: int, upper_too: bool = True
    ) -> list[Repairable]:
        """What is worth sending again of what was lost: each packet once a round trip.

        Frames before the newest one that needs none of them are not repaired: no later one does either.
        Those of the upper temporal layer are only where upper_too says so.
        """
        known = (self._packets.get(number) for number in dict.fromkeys(lost))
        return [
            sent
            for sent in known
            if sent is not None
            and not sent.has_arrived
            and sent.outgoing.frame_id >= self._restart_id
            and (upper_too or sent.outgoing.is_read)
            and (sent.resent_us is None or now_us - sent.resent_us >= rtt_us)
        ]

    def padding(self) -> Repairable | None:
        """One of the newest packets, in turn; None before the first."""
        newest = min(PADDING_PACKETS, len(self._packets))
        if not newest:
            return None
        back = self._paddings % newest
        self._paddings += 1
        numbers = reversed(self._packets)
        for _ in range(back):
            next(numbers)
        return self._packets[next(numbers)]
