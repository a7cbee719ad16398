"""RTCP about reference pictures: which one to predict from (RPSI), and which ones arrived."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from codecpilot.codecs.errors import LocalError, RemoteError

from .rtcp_feedback import PSFB, SSRCS_BYTES, write_feedback
from .rtcp_message import RtcpMessage, read_words

MAX_ACKNOWLEDGED = 16
"""Ours: a sender holds 4 long-term references, so this is four times all of them."""

_PAYLOAD_TYPE_MASK = 0x7F
_SELECTION_HEADER_BYTES = 2
_FRAME_ID_BITS = 16
_ACKNOWLEDGEMENT_NAME = b"CPLA"
_COUNT_AT = SSRCS_BYTES + len(_ACKNOWLEDGEMENT_NAME)
_FRAME_IDS_AT = _COUNT_AT + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePictureSelection(RtcpMessage):
    """RPSI (RFC 4585 section 6.3.3) whose native bit string is a frame_id of 16 bits."""

    PACKET_TYPE: ClassVar[int] = PSFB
    FORMAT: ClassVar[int | None] = 3
    sender_ssrc: int
    media_ssrc: int
    payload_type: int
    frame_id: int

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self] | None:
        """None for a bit string of another length, which another codec's is."""
        sender_ssrc, media_ssrc = read_words(body, 0, 2)
        entry = body[SSRCS_BYTES:]
        if len(entry) < _SELECTION_HEADER_BYTES:
            raise RemoteError(f"an RPSI of {len(body)} bytes names no payload type")
        padding_bits, payload_type = entry[0], entry[1] & _PAYLOAD_TYPE_MASK
        native = entry[_SELECTION_HEADER_BYTES:]
        native_bits = 8 * len(native) - padding_bits
        if native_bits < 0:
            raise RemoteError(f"RPSI padding of {padding_bits} bits in {len(native)} bytes")
        if native_bits != _FRAME_ID_BITS:
            return None
        return (
            cls(
                sender_ssrc=sender_ssrc,
                media_ssrc=media_ssrc,
                payload_type=payload_type,
                frame_id=int.from_bytes(native[:2], "big"),
            ),
        )

    def write(self) -> tuple[int, int, bytes]:
        """One word, so no padding bits. Raises LocalError for a payload type over 7 bits."""
        if not 0 <= self.payload_type <= _PAYLOAD_TYPE_MASK:
            raise LocalError(f"payload type {self.payload_type} is outside 0..{_PAYLOAD_TYPE_MASK}")
        entry = struct.pack("!BBH", 0, self.payload_type, self.frame_id)
        return write_feedback(self, self.sender_ssrc, self.media_ssrc, entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class LtrAcknowledgement(RtcpMessage):
    """Long-term references that were decoded: ours, application layer feedback (RFC 4585 6.4).

    frame_ids are 16 bits each, 1 to 16 of them.
    """

    PACKET_TYPE: ClassVar[int] = PSFB
    FORMAT: ClassVar[int | None] = 15
    sender_ssrc: int
    media_ssrc: int
    frame_ids: tuple[int, ...]

    @classmethod
    def read(cls, count: int, body: bytes) -> Sequence[Self] | None:
        """None for another application's message; what follows the last frame_id is ignored."""
        sender_ssrc, media_ssrc = read_words(body, 0, 2)
        if body[SSRCS_BYTES:_COUNT_AT] != _ACKNOWLEDGEMENT_NAME:
            return None
        acknowledged = int.from_bytes(body[_COUNT_AT:_FRAME_IDS_AT], "big")
        if not 1 <= acknowledged <= MAX_ACKNOWLEDGED:
            raise RemoteError(f"{acknowledged} frames acknowledged, 1..{MAX_ACKNOWLEDGED} can be")
        if len(body) < _FRAME_IDS_AT + 2 * acknowledged:
            raise RemoteError(f"{acknowledged} frames acknowledged in {len(body)} bytes")
        frame_ids = struct.unpack_from(f"!{acknowledged}H", body, _FRAME_IDS_AT)
        return (cls(sender_ssrc=sender_ssrc, media_ssrc=media_ssrc, frame_ids=frame_ids),)

    def write(self) -> tuple[int, int, bytes]:
        """Zeros fill the last word. Raises LocalError for no or too many frame_ids."""
        acknowledged = len(self.frame_ids)
        if not 1 <= acknowledged <= MAX_ACKNOWLEDGED:
            raise LocalError(f"{acknowledged} frame_ids are outside 1..{MAX_ACKNOWLEDGED}")
        entry = struct.pack(f"!H{acknowledged}H", acknowledged, *self.frame_ids)
        filler = bytes(-len(entry) % 4)
        entry = _ACKNOWLEDGEMENT_NAME + entry + filler
        return write_feedback(self, self.sender_ssrc, self.media_ssrc, entry)
