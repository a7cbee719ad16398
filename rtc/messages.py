"""What passes between the cores and their drivers."""

from __future__ import annotations

from dataclasses import dataclass

from ..codecs.types import Codec
from .rtp.extensions import LtrMark

# RFC 6184 section 5.1; the AV1 RTP specification asks for the same.
VIDEO_CLOCK_HZ = 90_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NegotiatedCodec:
    """A codec both sides agreed on, and the RTP payload types that carry it."""

    codec: Codec
    payload_type: int
    rtx_payload_type: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlexfecStream:
    """FlexFEC-03 of one media stream: its payload type, and the SSRC that it comes on."""

    payload_type: int
    ssrc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RedPayloadTypes:
    """The payload types of RED (RFC 2198), of ULPFEC within it (RFC 5109), and of RED's retransmissions."""

    red: int
    ulpfec: int
    rtx: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedFrame:
    """A whole frame whose dependencies were decoded: the next thing for the decoder.

    data is an AV1 temporal unit or an H.264 access unit in Annex B. frame_id is the dependency
    descriptor's unwrapped frame number and dependencies are those it names; without a descriptor
    dependencies is None (the frame before, then) and frame_id is the first sequence number.
    rtp_timestamp is unwrapped (90 kHz). capture_wall_us is the sender's wall clock at capture,
    counted from 1900 as NTP does, where abs-capture-time tells it. first_us and complete_us are
    when its first and its last packet arrived, on the receiver's clock. recovered tells that a
    packet of it came by retransmission or FEC. ltr is what the frame is to long-term references.
    """

    data: bytes
    codec: Codec
    key: bool
    frame_id: int
    temporal_id: int
    dependencies: tuple[int, ...] | None
    first_sequence: int
    last_sequence: int
    rtp_timestamp: int
    capture_wall_us: int | None
    first_us: int
    complete_us: int
    recovered: bool = False
    ltr: LtrMark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedFrame:
    """What became of a frame in the decoder, for the application's figures."""

    frame_id: int
    codec: Codec
    key: bool
    width: int
    height: int
    decode_us: int
    capture_wall_us: int | None
    decoded_us: int
