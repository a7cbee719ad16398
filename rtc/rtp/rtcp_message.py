"""What every RTCP message offers to the compound reader and writer, and the unknown message."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from codecpilot.codecs.errors import LocalError, RemoteError

MAX_COUNT = 31  # RFC 3550 section 6.4.1: RC and SC have five bits


class RtcpMessage:
    """Base of all messages: a subclass is a frozen dataclass that can read and write its body."""

    __slots__ = ()
    PACKET_TYPE: ClassVar[int]
    FORMAT: ClassVar[int | None] = None
    """The feedback message type of RFC 4585 section 6.1; None where the type has no formats."""

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self] | None:
        """The messages of one packet; None when it is of another kind that shares the format.

        Raises RemoteError for a malformed body.
        """
        raise NotImplementedError

    def write(self) -> tuple[int, int, bytes]:
        """Packet type, count (or format) and body. May raise struct.error for a bad field."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRtcp(RtcpMessage):
    """A well-framed packet of a kind that is not known here. body excludes padding."""

    packet_type: int
    count: int
    body: bytes

    def write(self) -> tuple[int, int, bytes]:
        """The packet as it came."""
        return self.packet_type, checked_count(self.count, "count"), self.body


def checked_count(count: int, what: str) -> int:
    """count, if five bits carry it. Raises LocalError otherwise."""
    if not 0 <= count <= MAX_COUNT:
        raise LocalError(f"{what} {count} is outside 0..{MAX_COUNT}")
    return count


def read_words(body: bytes, offset: int, count: int) -> tuple[int, ...]:
    """count 32-bit words. Raises RemoteError when the body ends before."""
    if len(body) < offset + 4 * count:
        raise RemoteError(f"{count} words expected at {offset} of an RTCP body of {len(body)}")
    return struct.unpack_from(f"!{count}I", body, offset)
