"""Which packet of a stream travels under which transport-wide number, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..ratecontrol.bandwidth.messages import Feedback
from .outgoing_packet import OutgoingPacket
from .transport_history import MAX_PACKETS


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketFate:
    """What feedback says of a packet: that it arrived, or is missing (and may yet arrive).

    number is the path's; sequence_number that of the media packet, also where it was sent again, and the FEC
    packet's own. was_missing tells that this is the second word on it.
    """

    packet: OutgoingPacket
    number: int
    sequence_number: int
    arrived: bool
    was_missing: bool


@dataclass(slots=True)
class _Flight:
    packet: OutgoingPacket
    sequence_number: int
    is_missing: bool = False


class Flights:
    """One stream's packets on the path; as many as the path's own history has."""

    def __init__(self) -> None:
        self._flights: dict[int, _Flight] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def add(self, packet: OutgoingPacket, *, number: int, sequence_number: int) -> None:
        """A packet leaves under the path's number."""
        if packet.repeats is not None:
            sequence_number = packet.repeats
        self._flights[number] = _Flight(packet, sequence_number)
        if len(self._flights) > MAX_PACKETS:
            del self._flights[next(iter(self._flights))]

    def fates(self, feedback: Feedback) -> list[PacketFate]:
        """What is said of this stream's packets, in the order of sending."""
        fates = []
        for result in feedback.results:
            number = result.packet.number
            flight = self._flights.get(number)
            if flight is None:
                continue
            arrived = result.arrival_us is not None
            fates.append(
                PacketFate(
                    packet=flight.packet,
                    number=number,
                    sequence_number=flight.sequence_number,
                    arrived=arrived,
                    was_missing=flight.is_missing,
                )
            )
            flight.is_missing = True
            if arrived:
                del self._flights[number]
        return fates
