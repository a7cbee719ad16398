"""Packets to whole frames: reordering and assembly (RFC 3550 5.1, AV1 RTP specification 4.1).

A frame is the run of packets with one RTP timestamp that ends with the marker bit. Its first packet is known
by the dependency descriptor, by a payload that can only begin a key frame, or by the frame before it being
complete up to the sequence number just before.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..rtp.extensions import LtrMark

# ours: two seconds at 10 Mbps and 1200 bytes a packet; libwebrtc's packet buffer grows to 2048 too.
MAX_PACKETS = 2048
# ours: as many packets of Ethernet's size; a datagram may be 64 kB long.
MAX_BYTES = MAX_PACKETS * 1500


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
    """Whether it came by retransmission or FEC."""
    ltr: LtrMark | None = None


class PacketBuffer:
    """Holds packets until the frame they belong to is whole; bounded, never waits.

    Each packet is joined once to the run that reaches back to its frame's first packet, so work
    does not grow with the length of a frame.
    """

    def __init__(self) -> None:
        self._packets: dict[int, MediaPacket] = {}
        self._bytes = 0
        self._joined: set[int] = set()
        self._ends: dict[int, None] = {}
        self._padding: dict[int, None] = {}
        self._done = -1

    def __len__(self) -> int:
        return len(self._packets)

    def insert(self, packet: MediaPacket) -> list[MediaPacket] | None:
        """Keep a packet; the frame's packets in order when it was the last one missing.

        A packet that was seen before, or lies before what was discarded, changes nothing. Of too
        many packets the oldest is discarded, which may be this one.
        """
        if self.has(packet.sequence) or packet.sequence <= self._done:
            return None
        self._packets[packet.sequence] = packet
        self._bytes += len(packet.payload)
        while len(self._packets) > MAX_PACKETS or self._bytes > MAX_BYTES:
            self.discard_through(min(self._packets))
        frame = self._take_frame(packet.sequence)
        if frame is None and packet.marker:
            # What follows may have waited to learn that a frame ends here.
            return self.next_frame(packet.sequence)
        return frame

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
        return self._take_frame(sequence)

    def discard_through(self, sequence: int) -> int:
        """Forget everything up to a sequence number; returns how many packets were waiting there."""
        if sequence <= self._done:
            return 0
        self._done = sequence
        stale = [s for s in self._packets if s <= sequence]
        for s in stale:
            self._remove(s)
        return len(stale)

    def _take_frame(self, sequence: int) -> list[MediaPacket] | None:
        """The frame of this packet, if it is here without a gap from its first packet to its last."""
        if not self._joins(sequence):
            return None
        timestamp = self._packets[sequence].timestamp
        while not self._packets[sequence].marker:
            self._joined.add(sequence)
            sequence += 1
            following = self._packets.get(sequence)
            if following is None or following.timestamp != timestamp or sequence in self._joined:
                return None
        return self._take_run(last=sequence)

    def _joins(self, sequence: int) -> bool:
        packet = self._packets.get(sequence)
        if packet is None or self._begins_frame(packet):
            return packet is not None
        before = self._packets.get(sequence - 1)
        return before is not None and before.sequence in self._joined and _continues(before, packet)

    def _take_run(self, *, last: int) -> list[MediaPacket] | None:
        run = [self._packets[last]]
        while not self._begins_frame(run[-1]):
            before = self._packets.get(run[-1].sequence - 1)
            if before is None or not _continues(before, run[-1]):
                return None  # The first packets were discarded.
            run.append(before)
        for taken in run:
            self._remove(taken.sequence)
        self._ends[last] = None
        _trim(self._ends)
        return run[::-1]

    def _begins_frame(self, packet: MediaPacket) -> bool:
        if packet.starts_frame is not None:
            return packet.starts_frame
        before = self.previous_of(packet.sequence)
        if before in self._ends:
            return True
        waiting = self._packets.get(before)
        return waiting is not None and waiting.marker

    def _remove(self, sequence: int) -> None:
        self._bytes -= len(self._packets.pop(sequence).payload)
        self._joined.discard(sequence)


def _continues(before: MediaPacket, packet: MediaPacket) -> bool:
    return before.timestamp == packet.timestamp and not before.marker


def _trim(numbers: dict[int, None]) -> None:
    while len(numbers) > MAX_PACKETS:
        del numbers[next(iter(numbers))]
