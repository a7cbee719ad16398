"""What has left and may be sent again: for retransmission, and to fill probes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from .outgoing_packet import OutgoingPacket

# webrtc.md's libwebrtc baseline is 600 packets; ours: two seconds at 5 Mbps.
HISTORY_PACKETS = 1024
# ours: probes are filled with the newest packets, which a receiver may still lack.
PADDING_PACKETS = 8


@dataclass(slots=True)
class Repairable:
    """A packet that left, and the number that it had."""

    sequence_number: int
    outgoing: OutgoingPacket
    resent_us: int | None = None


class RepairHistory:
    """The newest packets of a stream by sequence number."""

    def __init__(self) -> None:
        self._packets: OrderedDict[int, Repairable] = OrderedDict()
        self._key_id = 0
        self._paddings = 0

    def add(self, sequence_number: int, outgoing: OutgoingPacket) -> None:
        """Remember a packet that leaves."""
        self._packets[sequence_number] = Repairable(sequence_number, outgoing)
        if outgoing.key:
            self._key_id = outgoing.frame_id
        while len(self._packets) > HISTORY_PACKETS:
            self._packets.popitem(last=False)

    def due(self, lost: Iterable[int], *, now_us: int, rtt_us: int) -> list[Repairable]:
        """What is worth sending again of what was lost: each packet once a round trip.

        Frames before the newest key frame are not repaired: no later one needs them.
        """
        known = (self._packets.get(number) for number in dict.fromkeys(lost))
        return [
            sent
            for sent in known
            if sent is not None
            and sent.outgoing.frame_id >= self._key_id
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
