"""Whole frames whose descriptors name a template structure that has not come yet."""

from __future__ import annotations

from collections import deque

from .dependencies import MAX_WAITING, MAX_WAITING_BYTES
from .packet_buffer import MediaPacket


class UndescribedFrames:
    """Holds frames' packets, the newest that fit: the structure comes with a key frame's first packet."""

    def __init__(self) -> None:
        self._frames: deque[list[MediaPacket]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, packets: list[MediaPacket]) -> None:
        """Hold a frame; the oldest go when there are too many."""
        self._frames.append(packets)
        self._bytes += _payload_bytes(packets)
        while len(self._frames) > MAX_WAITING or self._bytes > MAX_WAITING_BYTES:
            self._bytes -= _payload_bytes(self._frames.popleft())

    def take_all(self) -> list[list[MediaPacket]]:
        """Every frame, oldest first; nothing is held any more."""
        frames = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        return frames


def _payload_bytes(packets: list[MediaPacket]) -> int:
    return sum(len(packet.payload) for packet in packets)
