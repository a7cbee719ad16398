"""RTCP feedback messages: NACK and PLI (RFC 4585), FIR (RFC 5104), REMB (draft-alvestrand)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from codecpilot.codecs.errors import LocalError, RemoteError

from .rtcp_message import RtcpMessage, read_words

RTPFB, PSFB = 205, 206  # RFC 4585 section 6.1
SSRCS_BYTES = 8  # RFC 4585 section 6.1
_BLP_BITS = 16  # RFC 4585 section 6.2.1
_SEQUENCE_MASK = 0xFFFF
_REMB_NAME = b"REMB"
_REMB_MANTISSA_BITS = 18  # draft-alvestrand-rmcat-remb-03 section 2.2
_REMB_MAX_BPS = (1 << 64) - 1  # libwebrtc Remb::Parse refuses what overflows 64 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Nack(RtcpMessage):
    """Generic NACK (RFC 4585 section 6.2.1). lost are 16-bit sequence numbers."""

    PACKET_TYPE: ClassVar[int] = RTPFB
    FORMAT: ClassVar[int | None] = 1
    sender_ssrc: int
    media_ssrc: int
    lost: tuple[int, ...]

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self]:
        """lost comes out in the order of the entries, each PID before its BLP."""
        sender_ssrc, media_ssrc = read_words(body, 0, 2)
        if (len(body) - SSRCS_BYTES) % 4 or len(body) == SSRCS_BYTES:
            raise RemoteError(f"a NACK of {len(body)} bytes has no whole entries")
        lost: list[int] = []
        for pid, blp in struct.iter_unpack("!HH", body[SSRCS_BYTES:]):
            lost.append(pid)
            while blp:
                lowest = blp & -blp
                lost.append((pid + lowest.bit_length()) & _SEQUENCE_MASK)
                blp ^= lowest
        return (cls(sender_ssrc=sender_ssrc, media_ssrc=media_ssrc, lost=tuple(lost)),)

    def write(self) -> tuple[int, int, bytes]:
        """As few entries as cover the set. Raises LocalError when nothing is lost."""
        if not self.lost or not all(0 <= s <= _SEQUENCE_MASK for s in self.lost):
            raise LocalError(f"a NACK needs sequence numbers 0..{_SEQUENCE_MASK}, got {self.lost}")
        entries = [struct.pack("!HH", pid, blp) for pid, blp in _nack_entries(self.lost)]
        return write_feedback(self, self.sender_ssrc, self.media_ssrc, b"".join(entries))


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureLossIndication(RtcpMessage):
    """PLI (RFC 4585 section 6.3.1)."""

    PACKET_TYPE: ClassVar[int] = PSFB
    FORMAT: ClassVar[int | None] = 1
    sender_ssrc: int
    media_ssrc: int

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self]:
        """It has no entries; what follows the SSRCs is ignored."""
        sender_ssrc, media_ssrc = read_words(body, 0, 2)
        return (cls(sender_ssrc=sender_ssrc, media_ssrc=media_ssrc),)

    def write(self) -> tuple[int, int, bytes]:
        """The two SSRCs alone."""
        return write_feedback(self, self.sender_ssrc, self.media_ssrc, b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class FullIntraRequest(RtcpMessage):
    """FIR (RFC 5104 section 4.3.1). requests are (media SSRC, command sequence number 0..255)."""

    PACKET_TYPE: ClassVar[int] = PSFB
    FORMAT: ClassVar[int | None] = 4
    sender_ssrc: int
    requests: tuple[tuple[int, int], ...]

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self]:
        """The media SSRC of the header is unused (section 4.3.1.1)."""
        sender_ssrc, _ = read_words(body, 0, 2)
        if (len(body) - SSRCS_BYTES) % 8 or len(body) == SSRCS_BYTES:
            raise RemoteError(f"a FIR of {len(body)} bytes has no whole entries")
        requests = tuple(struct.iter_unpack("!IB3x", body[SSRCS_BYTES:]))
        return (cls(sender_ssrc=sender_ssrc, requests=requests),)

    def write(self) -> tuple[int, int, bytes]:
        """Raises LocalError when nothing is requested."""
        if not self.requests:
            raise LocalError("a FIR needs at least one request")
        entries = b"".join(struct.pack("!IB3x", ssrc, n) for ssrc, n in self.requests)
        return write_feedback(self, self.sender_ssrc, 0, entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverEstimatedMaximumBitrate(RtcpMessage):
    """REMB (draft-alvestrand-rmcat-remb-03 section 2.2). The wire rounds bitrate_bps down."""

    PACKET_TYPE: ClassVar[int] = PSFB
    FORMAT: ClassVar[int | None] = 15
    sender_ssrc: int
    bitrate_bps: int
    ssrcs: tuple[int, ...] = ()

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self] | None:
        """None for another application's message: the format is shared (RFC 4585 6.4)."""
        if body[SSRCS_BYTES : SSRCS_BYTES + 4] != _REMB_NAME:
            read_words(body, 0, 2)
            return None
        sender_ssrc, _, _, packed = read_words(body, 0, 4)
        exponent, mantissa = packed >> 18 & 0x3F, packed & 0x3FFFF
        bitrate_bps = mantissa << exponent
        if bitrate_bps > _REMB_MAX_BPS:
            raise RemoteError(f"REMB's {mantissa} * 2^{exponent} bps overflows 64 bits")
        ssrcs = read_words(body, 16, packed >> 24)
        return (cls(sender_ssrc=sender_ssrc, bitrate_bps=bitrate_bps, ssrcs=ssrcs),)

    def write(self) -> tuple[int, int, bytes]:
        """Raises LocalError for a rate outside 64 bits."""
        if not 0 <= self.bitrate_bps <= _REMB_MAX_BPS:
            raise LocalError(f"bitrate_bps {self.bitrate_bps} is outside 0..{_REMB_MAX_BPS}")
        exponent = max(0, self.bitrate_bps.bit_length() - _REMB_MANTISSA_BITS)
        mantissa = self.bitrate_bps >> exponent
        packed = struct.pack(
            f"!4sBBH{len(self.ssrcs)}I",
            _REMB_NAME,
            len(self.ssrcs),
            exponent << 2 | mantissa >> 16,
            mantissa & 0xFFFF,
            *self.ssrcs,
        )
        return write_feedback(self, self.sender_ssrc, 0, packed)


def write_feedback(
    message: RtcpMessage, sender_ssrc: int, media_ssrc: int, entries: bytes
) -> tuple[int, int, bytes]:
    """What RtcpMessage.write gives for feedback (RFC 4585 section 6.1)."""
    body = struct.pack("!II", sender_ssrc, media_ssrc) + entries
    return message.PACKET_TYPE, message.FORMAT or 0, body


def _nack_entries(lost: Iterable[int]) -> list[tuple[int, int]]:
    """(PID, BLP) pairs, as few as cover the set: greedy, from behind the circle's widest gap."""
    numbers = sorted(set(lost))
    gaps = [(b - a) & _SEQUENCE_MASK for a, b in zip(numbers[-1:] + numbers, numbers, strict=False)]
    first = max(range(len(numbers)), key=gaps.__getitem__)
    entries: list[tuple[int, int]] = []
    for number in numbers[first:] + numbers[:first]:
        if entries:
            pid, blp = entries[-1]
            ahead = (number - pid) & _SEQUENCE_MASK
            if ahead <= _BLP_BITS:
                entries[-1] = (pid, blp | 1 << (ahead - 1))
                continue
        entries.append((number, 0))
    return entries
