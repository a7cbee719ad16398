"""Packets to whole frames: reordering and assembly (RFC 3550 5.1, AV1 RTP specification 4.1).

A frame is the run of packets with one RTP timestamp that ends with the marker bit. Its first packet is known
by the dependency descriptor, by a payload that can only begin a key frame, or by the frame before it being
complete up to the sequence number just before.
"""

from __future__ import annotations

from dataclasses import dataclass

# ours: two seconds at 10 Mbps and 1200 bytes a packet; libwebrtc's packet buffer grows to 2048 too.
MAX_PACKETS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPacket:
    """A media packet with its sequence number and timestamp unwrapped; payload is not empty.

    starts_frame is None where neither the dependency descriptor nor the payload tells it. of_key
    tells that the payload can only be a key frame's.
    """

    sequence: int
    timestamp: int
    payload_type: int
    marker: bool
    payload: bytes
    of_key: bool
    starts_frame: bool | None
    descriptor: bytes | None
    capture_wall_us: int | None
    arrival_us: int
    recovered: bool = False
    """Whether it came by retransmission."""


class PacketBuffer:
    """Holds packets until the frame they belong to is whole; bounded, never waits."""

    def __init__(self) -> None:
        self._packets: dict[int, MediaPacket] = {}
        self._ends: dict[int, None] = {}
        self._padding: dict[int, None] = {}
        self._done = -1

    def __len__(self) -> int:
        return len(self._packets)

    def insert(self, packet: MediaPacket) -> list[MediaPacket] | None:
        """Keep a packet; the frame's packets in order when it was the last one missing.

        A packet that was seen before, or lies before what was discarded, changes nothing.
        """
        if self.has(packet.sequence) or packet.sequence <= self._done:
            return None
        self._packets[packet.sequence] = packet
        if len(self._packets) > MAX_PACKETS:
            del self._packets[min(self._packets)]
        return self._take_frame(packet.sequence)

    def insert_padding(self, sequence: int) -> list[MediaPacket] | None:
        """Note a packet without payload: it belongs to no frame, yet its number is no gap."""
        if sequence <= self._done:
            return None
        self._padding[sequence] = None
        _trim(self._padding)
        return self.next_frame(sequence)

    def has(self, sequence: int) -> bool:
        """Whether the packet waits here."""
        return sequence in self._packets

    def previous_of(self, sequence: int) -> int:
        """The sequence number before, padding passed over."""
        sequence -= 1
        while sequence in self._padding:
            sequence -= 1
        return sequence

    def next_frame(self, after: int) -> list[MediaPacket] | None:
        """The frame that begins right after a sequence number, if it has become whole."""
        sequence = after + 1
        while sequence in self._padding:
            sequence += 1
        return self._take_frame(sequence) if sequence in self._packets else None

    def discard_through(self, sequence: int) -> None:
        """Forget everything up to a sequence number."""
        if sequence <= self._done:
            return
        self._done = sequence
        for stale in [s for s in self._packets if s <= sequence]:
            del self._packets[stale]

    def _take_frame(self, sequence: int) -> list[MediaPacket] | None:
        first = self._first_of(sequence)
        if first is None:
            return None
        frame: list[MediaPacket] = []
        timestamp = self._packets[first].timestamp
        while (packet := self._packets.get(first + len(frame))) and packet.timestamp == timestamp:
            frame.append(packet)
            if packet.marker:
                break
        if not frame[-1].marker:
            return None
        for taken in frame:
            del self._packets[taken.sequence]
        self._ends[frame[-1].sequence] = None
        _trim(self._ends)
        return frame

    def _first_of(self, sequence: int) -> int | None:
        timestamp = self._packets[sequence].timestamp
        while not self._begins_frame(self._packets[sequence]):
            sequence -= 1
            before = self._packets.get(sequence)
            if before is None or before.timestamp != timestamp or before.marker:
                return None
        return sequence

    def _begins_frame(self, packet: MediaPacket) -> bool:
        if packet.starts_frame is not None:
            return packet.starts_frame
        before = self.previous_of(packet.sequence)
        if before in self._ends:
            return True
        waiting = self._packets.get(before)
        return waiting is not None and waiting.marker


def _trim(numbers: dict[int, None]) -> None:
    while len(numbers) > MAX_PACKETS:
        del numbers[next(iter(numbers))]
