"""Transport-wide feedback: when each packet of a path arrived.

Sections are those of draft-holmer-rmcat-transport-wide-cc-extensions-01.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from codecpilot.codecs.errors import LocalError, RemoteError

from .packet_status import LARGE_DELTA, NOT_RECEIVED, SMALL_DELTA, read_chunks, write_chunks
from .rtcp_feedback import RTPFB
from .rtcp_message import RtcpMessage

DELTA_US = 250  # section 3.1.5
REFERENCE_TIME_US = 64_000  # section 3.1
# ours: more than any history of what was sent. The count has 16 bits, and 36 bytes that claim 65535
# packets would cost their reader 0.6 ms.
MAX_STATUSES = 1 << 13
# ours: 6 bytes a packet at worst (two chunks and a large delta each) stay below 1250 bytes.
MAX_ARRIVALS = 200

_FIXED = struct.Struct("!IIHHI")
_STEPS_OF_REFERENCE = REFERENCE_TIME_US // DELTA_US
_REFERENCE_MASK = 0xFFFFFF
_DELTA_MIN, _DELTA_MAX = -(1 << 15), (1 << 15) - 1  # section 3.1.5: a large delta has 16 bits
_SMALL_DELTA_MAX = 0xFF


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportFeedback(RtcpMessage):
    """What arrived of the packets base_sequence, base_sequence + 1, … (16 bits, wrapping).

    A status is None for a packet that did not arrive. Otherwise it is the time since the arrival
    of the packet before it that did, for the first since reference_time; in steps of 250 us,
    -32768..32767. reference_time counts 64 ms in 24 bits, wrapping, on the receiver's clock.
    feedback_count has 8 bits and grows by one a feedback.
    """

    PACKET_TYPE: ClassVar[int] = RTPFB
    FORMAT: ClassVar[int | None] = 15
    sender_ssrc: int
    media_ssrc: int
    base_sequence: int
    reference_time: int
    feedback_count: int
    statuses: tuple[int | None, ...]

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self]:
        """What follows the last delta is ignored: some pad by zeros and do not say so."""
        if len(body) < _FIXED.size:
            raise RemoteError(f"transport feedback has {_FIXED.size} bytes, got {len(body)}")
        sender_ssrc, media_ssrc, base_sequence, status_count, packed = _FIXED.unpack_from(body)
        if not 1 <= status_count <= MAX_STATUSES:
            raise RemoteError(
                f"transport feedback of {status_count} packets, not 1..{MAX_STATUSES}"
            )
        runs, offset = read_chunks(body, _FIXED.size, count=status_count)
        feedback = cls(
            sender_ssrc=sender_ssrc,
            media_ssrc=media_ssrc,
            base_sequence=base_sequence,
            reference_time=packed >> 8,
            feedback_count=packed & 0xFF,
            statuses=_read_statuses(body, offset, runs),
        )
        return (feedback,)

    def write(self) -> tuple[int, int, bytes]:
        """As few chunks as can be. Raises LocalError for statuses that the wire cannot carry."""
        if not 1 <= len(self.statuses) <= MAX_STATUSES:
            raise LocalError(f"{len(self.statuses)} statuses, 1..{MAX_STATUSES} fit a feedback")
        if not (0 <= self.reference_time <= _REFERENCE_MASK and 0 <= self.feedback_count <= 0xFF):
            raise LocalError(
                f"reference_time {self.reference_time} must be 0..{_REFERENCE_MASK} "
                f"and feedback_count {self.feedback_count} 0..255"
            )
        fixed = _FIXED.pack(
            self.sender_ssrc,
            self.media_ssrc,
            self.base_sequence,
            len(self.statuses),
            self.reference_time << 8 | self.feedback_count,
        )
        chunks = write_chunks(_symbols(self.statuses))
        return RTPFB, 15, fixed + chunks + _write_deltas(self.statuses)


def transport_feedbacks(
    arrivals: Iterable[tuple[int, int]],
    *,
    base_number: int,
    feedback_count: int,
    sender_ssrc: int,
    media_ssrc: int,
) -> list[TransportFeedback]:
    """Feedback on the packets from base_number to the last that arrived.

    arrivals are (unwrapped number, arrival_us) in ascending order of numbers. A feedback ends where
    the next delta would not fit 16 bits (8 s), or with its 200th arrival.
    """
    parts = _split(arrivals, base_number=base_number)
    return [
        TransportFeedback(
            sender_ssrc=sender_ssrc,
            media_ssrc=media_ssrc,
            base_sequence=part.base_number & 0xFFFF,
            reference_time=part.first_step // _STEPS_OF_REFERENCE & _REFERENCE_MASK,
            feedback_count=(feedback_count + index) & 0xFF,
            statuses=tuple(part.statuses),
        )
        for index, part in enumerate(parts)
    ]


@dataclass(slots=True, kw_only=True)
class _Part:
    base_number: int
    first_step: int
    statuses: list[int | None]
    arrivals: int = 0


def _split(arrivals: Iterable[tuple[int, int]], *, base_number: int) -> list[_Part]:
    parts: list[_Part] = []
    next_number, last_step = base_number, 0
    for number, arrival_us in arrivals:
        # Steps are counted from the clock's zero, so that their rounding errors do not add up.
        step = arrival_us // DELTA_US
        delta = step - last_step
        if not parts or parts[-1].arrivals == MAX_ARRIVALS or not _DELTA_MIN <= delta <= _DELTA_MAX:
            parts.append(_Part(base_number=next_number, first_step=step, statuses=[]))
            delta = step % _STEPS_OF_REFERENCE
        part = parts[-1]
        part.statuses += [None] * (number - next_number)
        part.statuses.append(delta)
        part.arrivals += 1
        next_number, last_step = number + 1, step
    return parts


def _symbols(statuses: Sequence[int | None]) -> bytes:
    return bytes(
        NOT_RECEIVED
        if status is None
        else SMALL_DELTA
        if 0 <= status <= _SMALL_DELTA_MAX
        else LARGE_DELTA
        for status in statuses
    )


def _write_deltas(statuses: Sequence[int | None]) -> bytes:
    # Section 3.1.5: one unsigned byte, or two signed ones.
    return b"".join(
        status.to_bytes(1, "big")
        if 0 <= status <= _SMALL_DELTA_MAX
        else status.to_bytes(2, "big", signed=True)
        for status in statuses
        if status is not None
    )


def _read_statuses(
    body: bytes, offset: int, runs: Sequence[tuple[int, int]]
) -> tuple[int | None, ...]:
    delta_bytes = sum(symbol * run for symbol, run in runs)
    if offset + delta_bytes > len(body):
        raise RemoteError(f"{delta_bytes} bytes of deltas at {offset} of a feedback of {len(body)}")
    statuses: list[int | None] = []
    for symbol, run in runs:
        if symbol == NOT_RECEIVED:
            statuses += [None] * run
        elif symbol == SMALL_DELTA:
            statuses += body[offset : offset + run]
        else:
            statuses += struct.unpack_from(f"!{run}h", body, offset)
        offset += symbol * run
    return tuple(statuses)
