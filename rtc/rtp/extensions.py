"""The header extensions that we know: their URIs, their values, and a stream's negotiated ids."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codecpilot.codecs.errors import LocalError, RemoteError

from .packet import RtpPacket

MID = "urn:ietf:params:rtp-hdrext:sdes:mid"
ABS_SEND_TIME = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
TRANSPORT_CC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
DEPENDENCY_DESCRIPTOR = (
    "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
)
ABS_CAPTURE_TIME = "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
PLAYOUT_DELAY = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
LTR = "urn:codecpilot:rtp-hdrext:ltr"
LTR_ACK = "urn:codecpilot:rtp-hdrext:ltr-ack"

PLAYOUT_DELAY_STEP_MS = 10  # the playout-delay page: 12 bits of 10 ms each
PLAYOUT_DELAY_MAX_MS = 0xFFF * PLAYOUT_DELAY_STEP_MS

# What is written as a packet leaves, anew each time: libwebrtc RtpPacket::ZeroMutableExtensions, of those known here.
_STAMPS = (ABS_SEND_TIME, TRANSPORT_CC)
_LTR_FLAG, _RECOVERY_FLAG = 0x80, 0x40
_ABS_SEND_TIME_FRACTION_BITS = 18  # the abs-send-time page: 6.18 fixed point seconds
_ABS_SEND_TIME_MASK = 0xFFFFFF
_NTP_FRACTION_BITS = 32  # RFC 5905 section 6
_US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsCaptureTime:
    """When a frame was captured: NTP time in UQ32.32 on the capturer's clock.

    clock_offset (Q32.32, signed) is what a middlebox adds to go to its sender's clock.
    """

    ntp_timestamp: int
    clock_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayoutDelay:
    """The bounds that a sender asks of the receiver's playout delay."""

    min_ms: int
    max_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LtrMark:
    """What a frame is to long-term references: one itself (LTR), predicted from one (LTRP), or both.

    frame_id is the frame's own id in 16 bits, which acknowledgements name.
    """

    is_ltr: bool
    is_recovery: bool
    frame_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderExtensions:
    """The values of one packet; None where the packet has none.

    abs_send_time is 24 bits of 6.18 fixed point seconds. dependency_descriptor stays bytes, since
    reading it needs what earlier packets said. ltr_ack is the 16-bit frame_id of the newest LTR that
    the packet's sender decoded.
    """

    mid: str | None = None
    abs_send_time: int | None = None
    transport_sequence_number: int | None = None
    dependency_descriptor: bytes | None = None
    abs_capture_time: AbsCaptureTime | None = None
    playout_delay: PlayoutDelay | None = None
    ltr: LtrMark | None = None
    ltr_ack: int | None = None


class ExtensionMap:
    """The ids that a session negotiated for the extensions (RFC 8285 section 5)."""

    __slots__ = ("_by_field", "_by_id", "ids", "stamp_ids")

    def __init__(self, ids: Mapping[str, int]) -> None:
        """ids maps URIs to local ids; a URI unknown here is kept in `ids` and otherwise ignored."""
        if any(not 1 <= i <= 255 for i in ids.values()) or len(set(ids.values())) < len(ids):
            raise LocalError(f"extension ids must differ and be 1..255, got {dict(ids)}")
        self.ids = dict(ids)
        self._by_field = {f: (ids[c.uri], c) for f, c in _CODECS.items() if c.uri in ids}
        self._by_id = {i: (f, c) for f, (i, c) in self._by_field.items()}
        self.stamp_ids = frozenset(ids[uri] for uri in _STAMPS if uri in ids)
        """Those whose values say when a packet left; FEC counts them as zero."""

    def __contains__(self, uri: str) -> bool:
        return uri in self.ids

    def pack(self, values: HeaderExtensions) -> tuple[tuple[int, bytes], ...]:
        """RtpPacket.extensions for these values; what was not negotiated is left out.

        Raises LocalError for a value that its field cannot carry.
        """
        packed = []
        for field, (extension_id, codec) in self._by_field.items():
            value = getattr(values, field)
            if value is not None:
                packed.append((extension_id, codec.pack(value)))
        return tuple(packed)

    def unpack(self, packet: RtpPacket) -> HeaderExtensions:
        """The packet's known extensions. Raises RemoteError for a value of the wrong form.

        Of two extensions with the same id the first counts.
        """
        found: dict[str, Any] = {}
        for extension_id, data in packet.extensions:
            known = self._by_id.get(extension_id)
            if known is not None and known[0] not in found:
                found[known[0]] = known[1].unpack(data)
        return HeaderExtensions(**found)


def abs_send_time(now_us: int) -> int:
    """The 24-bit 6.18 fixed point value of a time in microseconds; wraps every 64 s."""
    return (now_us << _ABS_SEND_TIME_FRACTION_BITS) // _US_PER_S & _ABS_SEND_TIME_MASK


def ntp_from_us(time_us: int) -> int:
    """Microseconds since 1900, as NTP counts, in UQ32.32. The seconds wrap after 136 years."""
    return (time_us << _NTP_FRACTION_BITS) // _US_PER_S & 0xFFFFFFFFFFFFFFFF


def us_from_ntp(ntp_timestamp: int) -> int:
    """The microsecond since 1900 that is nearest to a UQ32.32 time."""
    return (ntp_timestamp * _US_PER_S + (1 << 31)) >> _NTP_FRACTION_BITS


def _pack_mid(mid: str) -> bytes:
    # RFC 8843 section 15.1: a token (US-ASCII); RFC 8285: at most 255 bytes.
    if not mid or not mid.isascii() or len(mid) > 255:
        raise LocalError(f"a mid is 1 to 255 ASCII characters, got {mid!r}")
    return mid.encode("ascii")


def _unpack_mid(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise RemoteError("the mid is not ASCII") from error


def _pack_uint(value: int, length_bytes: int) -> bytes:
    try:
        return value.to_bytes(length_bytes, "big")
    except OverflowError as error:
        raise LocalError(f"{value} does not fit an extension of {length_bytes} bytes") from error


def _unpack_uint(data: bytes, length_bytes: int, name: str) -> int:
    if len(data) != length_bytes:
        raise RemoteError(f"{name} has {length_bytes} bytes, got {len(data)}")
    return int.from_bytes(data, "big")


def _pack_capture_time(time: AbsCaptureTime) -> bytes:
    try:
        if time.clock_offset is None:
            return struct.pack("!Q", time.ntp_timestamp)
        return struct.pack("!Qq", time.ntp_timestamp, time.clock_offset)
    except struct.error as error:
        raise LocalError(f"{time} does not fit 64 bits each") from error


def _unpack_capture_time(data: bytes) -> AbsCaptureTime:
    if len(data) == 8:
        return AbsCaptureTime(ntp_timestamp=int.from_bytes(data, "big"))
    if len(data) == 16:
        timestamp, offset = struct.unpack("!Qq", data)
        return AbsCaptureTime(ntp_timestamp=timestamp, clock_offset=offset)
    raise RemoteError(f"abs-capture-time has 8 or 16 bytes, got {len(data)}")


def _pack_playout_delay(delay: PlayoutDelay) -> bytes:
    if not 0 <= delay.min_ms <= delay.max_ms <= PLAYOUT_DELAY_MAX_MS:
        raise LocalError(f"playout delay bounds are 0..{PLAYOUT_DELAY_MAX_MS} ms, got {delay}")
    low, high = delay.min_ms // PLAYOUT_DELAY_STEP_MS, delay.max_ms // PLAYOUT_DELAY_STEP_MS
    return (low << 12 | high).to_bytes(3, "big")


def _unpack_playout_delay(data: bytes) -> PlayoutDelay:
    packed = _unpack_uint(data, 3, "playout-delay")
    low, high = packed >> 12, packed & 0xFFF
    if low > high:
        raise RemoteError(f"playout-delay has minimum {low} above maximum {high}")
    return PlayoutDelay(min_ms=low * PLAYOUT_DELAY_STEP_MS, max_ms=high * PLAYOUT_DELAY_STEP_MS)


def _pack_ltr(mark: LtrMark) -> bytes:
    flags = mark.is_ltr * _LTR_FLAG | mark.is_recovery * _RECOVERY_FLAG
    return bytes((flags,)) + _pack_uint(mark.frame_id, 2)


def _unpack_ltr(data: bytes) -> LtrMark:
    packed = _unpack_uint(data, 3, "the LTR mark")
    flags, frame_id = packed >> 16, packed & 0xFFFF
    return LtrMark(
        is_ltr=bool(flags & _LTR_FLAG),
        is_recovery=bool(flags & _RECOVERY_FLAG),
        frame_id=frame_id,
    )


@dataclass(frozen=True, slots=True)
class _Codec:
    uri: str
    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]


# One row an extension: a new one needs a field in HeaderExtensions and a row here.
_CODECS: dict[str, _Codec] = {
    "mid": _Codec(MID, _pack_mid, _unpack_mid),
    "abs_send_time": _Codec(
        ABS_SEND_TIME,
        lambda value: _pack_uint(value, 3),
        lambda data: _unpack_uint(data, 3, "abs-send-time"),
    ),
    "transport_sequence_number": _Codec(
        TRANSPORT_CC,
        lambda value: _pack_uint(value, 2),
        lambda data: _unpack_uint(data, 2, "the transport sequence number"),
    ),
    "dependency_descriptor": _Codec(DEPENDENCY_DESCRIPTOR, bytes, bytes),
    "abs_capture_time": _Codec(ABS_CAPTURE_TIME, _pack_capture_time, _unpack_capture_time),
    "playout_delay": _Codec(PLAYOUT_DELAY, _pack_playout_delay, _unpack_playout_delay),
    "ltr": _Codec(LTR, _pack_ltr, _unpack_ltr),
    "ltr_ack": _Codec(
        LTR_ACK,
        lambda value: _pack_uint(value, 2),
        lambda data: _unpack_uint(data, 2, "the LTR acknowledgement"),
    ),
}
