"""RTCP compound packets (RFC 3550 section 6.1): framing, and which message reads which packet."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from codecpilot.codecs.errors import LocalError, RemoteError

from .rtcp_decode_report import DecodeReportMessage
from .rtcp_feedback import (
    PSFB,
    RTPFB,
    FullIntraRequest,
    Nack,
    PictureLossIndication,
    ReceiverEstimatedMaximumBitrate,
)
from .rtcp_message import RtcpMessage, UnknownRtcp
from .rtcp_references import LtrAcknowledgement, ReferencePictureSelection
from .rtcp_reports import (
    App,
    Bye,
    ReceiverReport,
    ReportBlock,
    SenderReport,
    SourceDescription,
)
from .rtcp_transport_feedback import TransportFeedback

__all__ = [
    "App",
    "Bye",
    "DecodeReportMessage",
    "FullIntraRequest",
    "LtrAcknowledgement",
    "Nack",
    "PictureLossIndication",
    "ReceiverEstimatedMaximumBitrate",
    "ReceiverReport",
    "ReferencePictureSelection",
    "ReportBlock",
    "RtcpMessage",
    "SenderReport",
    "SourceDescription",
    "TransportFeedback",
    "UnknownRtcp",
    "parse_rtcp",
    "salvage_rtcp",
    "serialize_rtcp",
]

# RFC 3550 section 6.4.1.
HEADER_BYTES = 4
_HEADER = struct.Struct("!BBH")
_VERSION = 2

_MESSAGES: tuple[type[RtcpMessage], ...] = (
    SenderReport,
    ReceiverReport,
    SourceDescription,
    Bye,
    DecodeReportMessage,
    App,
    Nack,
    PictureLossIndication,
    ReferencePictureSelection,
    FullIntraRequest,
    ReceiverEstimatedMaximumBitrate,
    LtrAcknowledgement,
    TransportFeedback,
)
# A class reads the packets of its packet type, and of its format where the type has formats. Of
# those that share a format the first one that knows the packet reads it.
_READERS: dict[tuple[int, int | None], list[type[RtcpMessage]]] = {}
for _message in _MESSAGES:
    _READERS.setdefault((_message.PACKET_TYPE, _message.FORMAT), []).append(_message)


def parse_rtcp(data: bytes) -> list[RtcpMessage]:
    """All messages of a compound (or reduced-size, RFC 5506) packet.

    Padding is accepted on any packet and in any length: peers pad feedback by 1 to 3 bytes.
    Raises RemoteError when any packet of it is malformed; salvage_rtcp keeps the good ones.
    """
    if not data:
        raise RemoteError("an RTCP datagram is empty")
    return [
        message
        for packet_type, count, body in _packets(data)
        for message in _read(packet_type, count, body)
    ]


def salvage_rtcp(data: bytes) -> tuple[list[RtcpMessage], int]:
    """The messages of every well-formed packet, and how many packets were malformed.

    A packet with a right header and a bad body is skipped; a bad header ends the datagram.
    """
    messages: list[RtcpMessage] = []
    malformed = 0
    packets = _packets(data)
    while True:
        try:
            packet_type, count, body = next(packets)
        except StopIteration:
            return messages, malformed
        except RemoteError:
            return messages, malformed + 1
        try:
            messages += _read(packet_type, count, body)
        except RemoteError:
            malformed += 1


def serialize_rtcp(messages: Sequence[RtcpMessage]) -> bytes:
    """One compound packet of these messages in this order.

    Only an UnknownRtcp whose body has no whole words is padded. Raises LocalError for a field that
    its width cannot carry.
    """
    return b"".join(_serialize(message) for message in messages)


def _packets(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Packet type, count and body without padding of each packet (RFC 3550 section 6.4.1)."""
    offset = 0
    while offset < len(data):
        if len(data) - offset < HEADER_BYTES:
            raise RemoteError("an RTCP header is truncated")
        first, packet_type, words = _HEADER.unpack_from(data, offset)
        if first >> 6 != _VERSION:
            raise RemoteError(f"RTCP version {first >> 6} is not {_VERSION}")
        start, end = offset + HEADER_BYTES, offset + HEADER_BYTES + 4 * words
        if end > len(data):
            raise RemoteError(f"an RTCP packet of {words} words runs past its datagram")
        padding_bytes = 0
        if first & 0x20:
            padding_bytes = data[end - 1]
            if not 1 <= padding_bytes <= end - start:
                raise RemoteError(f"RTCP padding of {padding_bytes} in {end - start} bytes")
        yield packet_type, first & 0x1F, data[start : end - padding_bytes]
        offset = end


def _read(packet_type: int, count: int, body: bytes) -> Sequence[RtcpMessage]:
    # RFC 4585 section 6.1: feedback has a format where other packets count.
    message_format = count if packet_type in (RTPFB, PSFB) else None
    for reader in _READERS.get((packet_type, message_format), ()):
        messages = reader.read(count, body)
        if messages is not None:
            return messages
    return (UnknownRtcp(packet_type=packet_type, count=count, body=body),)


def _serialize(message: RtcpMessage) -> bytes:
    try:
        packet_type, count, body = message.write()
        padding_bytes = -len(body) % 4
        if padding_bytes:
            body += bytes(padding_bytes - 1) + bytes((padding_bytes,))
        first = _VERSION << 6 | (padding_bytes > 0) << 5 | count
        return _HEADER.pack(first, packet_type, len(body) // 4) + body
    except (struct.error, OverflowError) as error:
        raise LocalError(f"{type(message).__name__} has a field out of range: {error}") from error
