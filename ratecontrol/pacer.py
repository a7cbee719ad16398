"""Spreads packets over time: a queue in front of a leaky bucket, bounded in time.

Sizes are those of whole datagrams. The bucket is kept in millionths of a bit, in which a rate in bit/s times a time
in us is a whole number, so that nothing is lost to rounding however often it is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Generic, Protocol, TypeVar

from ..codecs.errors import LocalError

# The VBV bound of the frame controller: what an encoder may be ahead of the path, the path may hold.
MAX_WAIT_US = 200_000
# ours: the operating system's timers are no finer, so what is due so soon goes along.
GROUP_US = 1_000
# ours: a driver that comes late by this much catches up; later than that would be a burst.
MAX_CREDIT_US = 5_000

_MICROBITS_PER_BYTE = 8_000_000


class PacketKind(IntEnum):
    """What a packet is for, in the order in which those that wait leave."""

    RETRANSMISSION = 0
    MEDIA = 1
    FEC = 2
    PADDING = 3


class Paced(Protocol):
    """What the pacer has to know of a packet."""

    @property
    def kind(self) -> PacketKind:
        """What it is for."""
        ...

    @property
    def stream(self) -> int:
        """Which stream it belongs to."""
        ...

    @property
    def frame_id(self) -> int:
        """Which frame of the stream."""
        ...

    @property
    def key(self) -> bool:
        """Whether its frame needs no other of its stream, as a key frame does."""
        ...

    @property
    def is_read(self) -> bool:
        """Whether frames behind its own need it."""
        ...

    @property
    def size_bytes(self) -> int:
        """Of the datagram."""
        ...

    @property
    def enqueued_us(self) -> int:
        """When it came."""
        ...


P = TypeVar("P", bound=Paced)


class Pacer(Generic[P]):
    """Lets packets leave at a rate: retransmissions first, then media, then FEC.

    Time that runs backwards drains nothing.
    """

    def __init__(self, rate_bps: int) -> None:
        self._rate_bps = _checked_rate(rate_bps)
        self._queues: dict[PacketKind, deque[P]] = {
            kind: deque() for kind in PacketKind if kind is not PacketKind.PADDING
        }
        self._queued_bytes = dict.fromkeys(self._queues, 0)
        # What left and has not drained yet; below zero for a driver that comes late.
        self._debt = 0
        self._drained_us: int | None = None
        self._begun: tuple[int, int] | None = None

    @property
    def rate_bps(self) -> int:
        """The rate in force."""
        return self._rate_bps

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not any(self._queues.values())

    @property
    def queued_bytes(self) -> int:
        """The size of all that waits."""
        return sum(self._queued_bytes.values())

    def set_rate(self, rate_bps: int, *, now_us: int) -> None:
        """Drain at the old rate up to now_us, at rate_bps from then on. Raises LocalError below 1."""
        _checked_rate(rate_bps)
        self._drain(now_us)
        self._rate_bps = rate_bps

    def enqueue(self, packets: Iterable[P]) -> list[P]:
        """Take packets, all those of a frame together.

        Gives back the retransmissions that waited of frames before one that needs none of them.
        """
        superseded: list[P] = []
        for packet in packets:
            # The time up to now was idle, if nothing waited.
            self._drain(packet.enqueued_us)
            if packet.key and packet.kind is PacketKind.MEDIA:
                superseded += self._supersede(packet)
            self._queues[packet.kind].append(packet)
            self._queued_bytes[packet.kind] += packet.size_bytes
        return superseded

    def expire(self, *, now_us: int) -> list[P]:
        """Take out what would leave later than MAX_WAIT_US after it came.

        Media goes in whole frames, by when their first packet would leave; a frame that has begun to
        leave is finished. What follows a frame taken out in its stream, if it is one that others
        read, is of no use before the next key frame and goes with it, as does its FEC.
        """
        oldest = [queue[0].enqueued_us for queue in self._queues.values() if queue]
        if not oldest:
            return []
        waited_us = now_us - min(oldest)
        if waited_us + self.wait_us(now_us=now_us) <= MAX_WAIT_US:
            return []
        expired = self._take(PacketKind.RETRANSMISSION, self._late_repairs(now_us))
        frames = self._late_frames(now_us)
        expired += self._take(PacketKind.MEDIA, lambda p: (p.stream, p.frame_id) in frames)
        return expired + self._take(
            PacketKind.FEC,
            lambda p: (p.stream, p.frame_id) in frames or now_us - p.enqueued_us > MAX_WAIT_US,
        )

    def room_bytes(self, *, now_us: int) -> int:
        """What may go before all that waits without making any frame, or one that came now, late."""
        longest_us = self.wait_us(now_us=now_us)
        ahead = max(0, self._debt) + self._waiting(PacketKind.RETRANSMISSION)
        frame = self._begun
        for packet in self._queues[PacketKind.MEDIA]:
            if (packet.stream, packet.frame_id) != frame:
                frame = (packet.stream, packet.frame_id)
                longest_us = max(longest_us, now_us + ahead // self._rate_bps - packet.enqueued_us)
            ahead += packet.size_bytes * _MICROBITS_PER_BYTE
        return max(0, MAX_WAIT_US - longest_us) * self._rate_bps // _MICROBITS_PER_BYTE

    def pop(self, *, now_us: int) -> P | None:
        """The next packet, if it may leave now."""
        if not self.may_send(now_us=now_us):
            return None
        for kind, queue in self._queues.items():
            if queue:
                packet = queue.popleft()
                self._queued_bytes[kind] -= packet.size_bytes
                self.charge(packet.size_bytes)
                if kind is PacketKind.MEDIA:
                    self._begun = (packet.stream, packet.frame_id)
                return packet
        return None

    def may_send(self, *, now_us: int) -> bool:
        """Whether a packet may leave now."""
        self._drain(now_us)
        return self._debt <= self._rate_bps * GROUP_US

    def charge(self, size_bytes: int) -> None:
        """Count a packet that left without having waited here."""
        self._debt += size_bytes * _MICROBITS_PER_BYTE

    def wait_us(self, *, now_us: int) -> int:
        """How long a frame that came now would wait before its first packet leaves."""
        self._drain(now_us)
        ahead = self._debt + self.queued_bytes * _MICROBITS_PER_BYTE
        return max(0, -(-ahead // self._rate_bps))

    def free_us(self) -> int:
        """When the next packet may leave, if the rate stays; 0 before the first call."""
        return (self._drained_us or 0) + max(0, -(-self._debt // self._rate_bps))

    def remove_stream(self, stream: int) -> None:
        """Forget what waits of a stream that has ended."""
        for kind in self._queues:
            self._take(kind, lambda p: p.stream == stream)

    def _drain(self, now_us: int) -> None:
        if self._drained_us is None:
            self._drained_us = now_us
        if now_us > self._drained_us:
            credit_us = 0 if self.is_empty else MAX_CREDIT_US
            drained = self._debt - (now_us - self._drained_us) * self._rate_bps
            self._debt = max(drained, min(self._debt, -credit_us * self._rate_bps))
            self._drained_us = now_us

    def _waiting(self, kind: PacketKind) -> int:
        return self._queued_bytes[kind] * _MICROBITS_PER_BYTE

    def _supersede(self, restart: P) -> list[P]:
        return self._take(
            PacketKind.RETRANSMISSION,
            lambda p: p.stream == restart.stream and p.frame_id < restart.frame_id,
        )

    def _late_repairs(self, now_us: int) -> Callable[[P], bool]:
        """Whether a retransmission is late, asked of each in turn."""
        ahead = max(0, self._debt)

        def is_late(packet: P) -> bool:
            nonlocal ahead
            if now_us + ahead // self._rate_bps - packet.enqueued_us > MAX_WAIT_US:
                return True
            ahead += packet.size_bytes * _MICROBITS_PER_BYTE
            return False

        return is_late

    def _late_frames(self, now_us: int) -> set[tuple[int, int]]:
        ahead = max(0, self._debt) + self._waiting(PacketKind.RETRANSMISSION)
        late: set[tuple[int, int]] = set()
        broken: set[int] = set()
        frame = self._begun
        for packet in self._queues[PacketKind.MEDIA]:
            if (packet.stream, packet.frame_id) != frame:
                frame = (packet.stream, packet.frame_id)
                leaves_us = now_us + ahead // self._rate_bps
                if packet.key:
                    broken.discard(packet.stream)
                if leaves_us - packet.enqueued_us > MAX_WAIT_US or packet.stream in broken:
                    late.add(frame)
                    if packet.is_read:
                        broken.add(packet.stream)
            if frame not in late:
                ahead += packet.size_bytes * _MICROBITS_PER_BYTE
        return late

    def _take(self, kind: PacketKind, is_taken: Callable[[P], bool]) -> list[P]:
        taken: list[P] = []
        kept: deque[P] = deque()
        for packet in self._queues[kind]:
            (taken if is_taken(packet) else kept).append(packet)
        self._queues[kind] = kept
        self._queued_bytes[kind] -= sum(packet.size_bytes for packet in taken)
        return taken


def _checked_rate(rate_bps: int) -> int:
    if rate_bps <= 0:
        raise LocalError(f"rate_bps must be 1 or more, got {rate_bps}")
    return rate_bps
