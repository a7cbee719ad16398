"""RTCP's own messages (RFC 3550 sections 6.4 to 6.7): SR, RR, SDES, BYE, APP."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from codecpilot.codecs.errors import LocalError, RemoteError

from .rtcp_message import RtcpMessage, checked_count, read_words

_BLOCK = struct.Struct("!IIIIII")
_SENDER_INFO = struct.Struct("!IQIII")
_SDES_END, _SDES_CNAME = 0, 1  # section 6.5
_PACKETS_LOST_MIN, _PACKETS_LOST_MAX = -(1 << 23), (1 << 23) - 1  # signed 24 bits
_APP_NAME_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportBlock:
    """What a receiver saw of one source (section 6.4.1).

    fraction_lost is in 1/256. highest_sequence holds the cycles in its upper 16 bits. jitter is in
    timestamp units, delay_since_last_sr in 1/65536 s. last_sr is the middle of the NTP timestamp.
    """

    ssrc: int
    fraction_lost: int
    packets_lost: int
    highest_sequence: int
    jitter: int
    last_sr: int
    delay_since_last_sr: int

    def write(self) -> bytes:
        """The 24 bytes of the block. Raises LocalError for a loss out of range."""
        if not (
            0 <= self.fraction_lost <= 255
            and _PACKETS_LOST_MIN <= self.packets_lost <= _PACKETS_LOST_MAX
        ):
            raise LocalError(
                f"fraction_lost {self.fraction_lost} must be 0..255 and packets_lost "
                f"{self.packets_lost} {_PACKETS_LOST_MIN}..{_PACKETS_LOST_MAX}"
            )
        return _BLOCK.pack(
            self.ssrc,
            self.fraction_lost << 24 | self.packets_lost & 0xFFFFFF,
            self.highest_sequence,
            self.jitter,
            self.last_sr,
            self.delay_since_last_sr,
        )

    @classmethod
    def read(cls, body: bytes, offset: int) -> Self:
        """The block at this offset, which the caller has checked to lie inside."""
        ssrc, loss, highest, jitter, last_sr, delay = _BLOCK.unpack_from(body, offset)
        packets_lost = loss & 0xFFFFFF
        if packets_lost > _PACKETS_LOST_MAX:
            packets_lost -= 1 << 24
        return cls(
            ssrc=ssrc,
            fraction_lost=loss >> 24,
            packets_lost=packets_lost,
            highest_sequence=highest,
            jitter=jitter,
            last_sr=last_sr,
            delay_since_last_sr=delay,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderReport(RtcpMessage):
    """SR (section 6.4.1). ntp_timestamp is UQ32.32 seconds since 1900."""

    PACKET_TYPE: ClassVar[int] = 200
    ssrc: int
    ntp_timestamp: int
    rtp_timestamp: int
    packet_count: int
    octet_count: int
    reports: tuple[ReportBlock, ...] = ()

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self]:
        """Profile-specific extensions behind the blocks are ignored."""
        reports = _read_blocks(body, _SENDER_INFO.size, count)
        ssrc, ntp, rtp, packets, octets = _SENDER_INFO.unpack_from(body)
        return (
            cls(
                ssrc=ssrc,
                ntp_timestamp=ntp,
                rtp_timestamp=rtp,
                packet_count=packets,
                octet_count=octets,
                reports=reports,
            ),
        )

    def write(self) -> tuple[int, int, bytes]:
        """Sender information, then the blocks."""
        information = _SENDER_INFO.pack(
            self.ssrc, self.ntp_timestamp, self.rtp_timestamp, self.packet_count, self.octet_count
        )
        return self.PACKET_TYPE, *_write_blocks(information, self.reports)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverReport(RtcpMessage):
    """RR (section 6.4.2)."""

    PACKET_TYPE: ClassVar[int] = 201
    ssrc: int
    reports: tuple[ReportBlock, ...] = ()

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self]:
        """Profile-specific extensions behind the blocks are ignored."""
        reports = _read_blocks(body, 4, count)
        return (cls(ssrc=int.from_bytes(body[:4], "big"), reports=reports),)

    def write(self) -> tuple[int, int, bytes]:
        """The reporter, then the blocks."""
        return self.PACKET_TYPE, *_write_blocks(struct.pack("!I", self.ssrc), self.reports)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDescription(RtcpMessage):
    """One chunk of an SDES packet (section 6.5); of its items only the CNAME is kept."""

    PACKET_TYPE: ClassVar[int] = 202
    ssrc: int
    cname: str

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self]:
        """One message a chunk; a chunk without CNAME has an empty one."""
        chunks = []
        offset = 0
        for _ in range(count):
            (ssrc,) = read_words(body, offset, 1)
            cname, offset = _read_sdes_items(body, offset + 4)
            chunks.append(cls(ssrc=ssrc, cname=cname))
        return chunks

    def write(self) -> tuple[int, int, bytes]:
        """A packet of one chunk. Raises LocalError for a CNAME over 255 bytes."""
        cname = self.cname.encode()
        if len(cname) > 255:
            raise LocalError(f"a CNAME has at most 255 bytes, got {len(cname)}")
        chunk = struct.pack("!IBB", self.ssrc, _SDES_CNAME, len(cname)) + cname
        # Section 6.5: one to four zero bytes end the chunk at a word boundary.
        return self.PACKET_TYPE, 1, chunk + bytes(4 - len(chunk) % 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bye(RtcpMessage):
    """BYE (section 6.6)."""

    PACKET_TYPE: ClassVar[int] = 203
    ssrcs: tuple[int, ...]
    reason: str = ""

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self]:
        """The reason's bytes that are not UTF-8 are replaced."""
        ssrcs = read_words(body, 0, count)
        rest = body[4 * count :]
        if rest and len(rest) < 1 + rest[0]:
            raise RemoteError(f"a BYE reason of {rest[0]} bytes is truncated")
        reason = rest[1 : 1 + rest[0]].decode(errors="replace") if rest else ""
        return (cls(ssrcs=ssrcs, reason=reason),)

    def write(self) -> tuple[int, int, bytes]:
        """Raises LocalError for a reason over 255 bytes or more than 31 sources."""
        reason = self.reason.encode()
        if len(reason) > 255:
            raise LocalError(f"a BYE reason has at most 255 bytes, got {len(reason)}")
        body = struct.pack(f"!{len(self.ssrcs)}I", *self.ssrcs)
        if reason:
            body += bytes((len(reason),)) + reason
            body += bytes(-len(body) % 4)
        return self.PACKET_TYPE, checked_count(len(self.ssrcs), "SSRC count"), body


@dataclass(frozen=True, slots=True, kw_only=True)
class App(RtcpMessage):
    """APP (section 6.7): name is four ASCII characters, data whole words."""

    PACKET_TYPE: ClassVar[int] = 204
    ssrc: int
    subtype: int
    name: bytes
    data: bytes = b""

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self]:
        """The subtype stands where other packets count."""
        (ssrc, _) = read_words(body, 0, 2)
        name = body[4 : 4 + _APP_NAME_BYTES]
        return (cls(ssrc=ssrc, subtype=count, name=name, data=body[8:]),)

    def write(self) -> tuple[int, int, bytes]:
        """Raises LocalError for a name that has not four bytes, or data that has no whole words."""
        if len(self.name) != _APP_NAME_BYTES or len(self.data) % 4:
            raise LocalError(
                f"an APP name has {_APP_NAME_BYTES} bytes and its data a multiple of 4, "
                f"got {self.name!r} and {len(self.data)}"
            )
        body = struct.pack("!I", self.ssrc) + self.name + self.data
        return self.PACKET_TYPE, checked_count(self.subtype, "APP subtype"), body


def _read_blocks(body: bytes, offset: int, count: int) -> tuple[ReportBlock, ...]:
    if len(body) < offset + count * _BLOCK.size:
        raise RemoteError(f"a report of {count} blocks is truncated to {len(body)} bytes")
    return tuple(ReportBlock.read(body, offset + i * _BLOCK.size) for i in range(count))


def _write_blocks(head: bytes, reports: Sequence[ReportBlock]) -> tuple[int, bytes]:
    count = checked_count(len(reports), "report count")
    return count, head + b"".join(report.write() for report in reports)


def _read_sdes_items(body: bytes, offset: int) -> tuple[str, int]:
    """The CNAME of a chunk, and where the next chunk begins (at a word boundary)."""
    cname = ""
    while True:
        if offset >= len(body):
            raise RemoteError("an SDES chunk has no end")
        if body[offset] == _SDES_END:
            return cname, (offset // 4 + 1) * 4
        if offset + 2 > len(body) or offset + 2 + body[offset + 1] > len(body):
            raise RemoteError("an SDES item is truncated")
        length = body[offset + 1]
        if body[offset] == _SDES_CNAME:
            cname = body[offset + 2 : offset + 2 + length].decode(errors="replace")
        offset += 2 + length
