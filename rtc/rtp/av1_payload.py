"""AV1 in RTP: a temporal unit to payloads and back (AV1 RTP specification v1.0.0).

Section numbers are those of that specification. One spatial layer: all OBUs of a temporal unit may
share packets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.obu import (
    Obu,
    ObuType,
    read_leb128,
    read_obu,
    read_obus,
    write_leb128,
    write_obu,
)

# Section 5: temporal delimiters and tile lists neither travel nor reach the decoder, and padding
# carries nothing.
UNSENT_TYPES = frozenset({ObuType.TEMPORAL_DELIMITER, ObuType.TILE_LIST, ObuType.PADDING})

# Section 4.4, the aggregation header.
AGGREGATION_HEADER_BYTES = 1
_Z_CONTINUES, _Y_CONTINUED, _N_NEW_SEQUENCE = 0x80, 0x40, 0x08
_W_SHIFT, _W_MAX = 4, 3

TEMPORAL_DELIMITER = write_obu(Obu(type=ObuType.TEMPORAL_DELIMITER, payload=b""))

MIN_PAYLOAD_BYTES = AGGREGATION_HEADER_BYTES + 1


def packetize_av1(
    temporal_unit: bytes,
    *,
    max_payload_bytes: int,
    new_sequence: bool,
    first_max_payload_bytes: int | None = None,
) -> list[bytes]:
    """The RTP payloads of one low-overhead temporal unit, in as few packets as the limits allow.

    The packets are filled evenly (counting what the first one's smaller limit leaves to its header
    extensions), which suits FEC and pacing. new_sequence marks a key frame that begins with a
    sequence header. first_max_payload_bytes is max_payload_bytes unless given.

    Raises LocalError for a limit below 2 bytes and for new_sequence without a sequence header,
    RemoteError for a temporal unit with bad framing or nothing to send.
    """
    first_max = max_payload_bytes if first_max_payload_bytes is None else first_max_payload_bytes
    if min(first_max, max_payload_bytes) < MIN_PAYLOAD_BYTES:
        raise LocalError(
            f"payload limits {first_max} and {max_payload_bytes} "
            f"must be at least {MIN_PAYLOAD_BYTES} bytes"
        )
    obus = [obu for obu in read_obus(temporal_unit) if obu.type not in UNSENT_TYPES]
    if not obus:
        raise RemoteError("the temporal unit has no OBU to send")
    if new_sequence and obus[0].type != ObuType.SEQUENCE_HEADER:
        raise LocalError("a new coded video sequence has to begin with a sequence header")
    # Section 4.5: sizes stand in the elements' own length fields.
    units = [write_obu(obu, has_size=False) for obu in obus]
    packets = _fill_evenly(units, first_max=first_max, rest_max=max_payload_bytes)
    payloads = [packet.payload() for packet in packets]
    if new_sequence:
        payloads[0] = bytes((payloads[0][0] | _N_NEW_SEQUENCE,)) + payloads[0][1:]
    return payloads


def assemble_av1(payloads: Sequence[bytes]) -> bytes:
    """The low-overhead temporal unit in the payloads of all its packets, in order.

    It begins with a temporal delimiter and every OBU has its size. Temporal delimiters, tile lists
    and padding among the payloads are dropped. Raises RemoteError for a violation of section 4 and
    for a temporal unit without any other OBU.
    """
    obus: list[bytes] = []
    fragments: list[bytes] = []
    for index, payload in enumerate(payloads):
        continues, continued, elements = _parse_payload(payload, first=index == 0)
        if continues != bool(fragments):
            raise RemoteError("Z of a packet disagrees with Y of the one before (section 4.4)")
        for element in elements[:-1]:
            obus.append(b"".join((*fragments, element)))
            fragments = []
        fragments.append(elements[-1])
        if not continued:
            obus.append(b"".join(fragments))
            fragments = []
    if fragments:
        raise RemoteError("the last packet of a temporal unit ends inside an OBU")
    # Sizes are judged only now: a fragment may end inside a size field.
    kept = [write_obu(obu) for obu in map(_whole_obu, obus) if obu.type not in UNSENT_TYPES]
    if not kept:
        raise RemoteError("no OBU in the packets of a temporal unit")
    return TEMPORAL_DELIMITER + b"".join(kept)


def is_av1_key_start(payload: bytes) -> bool:
    """Whether a payload is the first of a coded video sequence, and so of a key frame (N bit)."""
    return bool(payload) and payload[0] & (_N_NEW_SEQUENCE | _Z_CONTINUES) == _N_NEW_SEQUENCE


@dataclass(slots=True)
class _Packet:
    """One payload while it is filled. used_bytes counts a length field for every element."""

    limit_bytes: int
    continues: bool
    continued: bool = False
    elements: list[bytes] = field(default_factory=list)
    used_bytes: int = AGGREGATION_HEADER_BYTES

    def room_bytes(self) -> int:
        """How long one more element may be."""
        room = self.limit_bytes - self.used_bytes
        if len(self.elements) < _W_MAX or room <= 0:
            return room  # with W = 1..3 the last element has no length field
        return room - _leb128_bytes(room)

    def add(self, element: bytes) -> None:
        self.elements.append(element)
        self.used_bytes += len(element) + _leb128_bytes(len(element))

    def payload(self) -> bytes:
        """Section 4.5: W counts up to three elements, beyond that every element has a length."""
        count = len(self.elements) if len(self.elements) <= _W_MAX else 0
        header = (
            (_Z_CONTINUES if self.continues else 0)
            | (_Y_CONTINUED if self.continued else 0)
            | count << _W_SHIFT
        )
        parts = [bytes((header,))]
        for index, element in enumerate(self.elements):
            if not count or index + 1 < count:
                parts.append(write_leb128(len(element)))
            parts.append(element)
        return b"".join(parts)


def _fill_evenly(obus: Sequence[bytes], *, first_max: int, rest_max: int) -> list[_Packet]:
    """As few packets as with full ones, but under the lowest common limit that still suffices.

    The limit is searched from the mean size up, in growing steps.
    """
    packets = _fill(obus, first_max=first_max, rest_max=rest_max)
    count = len(packets)
    if count == 1:
        return packets
    reserve = rest_max - first_max
    content_bytes = sum(map(len, obus)) + count * AGGREGATION_HEADER_BYTES + reserve
    # Below the smallest limits a packet would take nothing and the filling would not end.
    lowest = MIN_PAYLOAD_BYTES + max(reserve, 0)
    limit, step = max(-(-content_bytes // count), lowest), 1
    while limit < rest_max:
        even = _fill(obus, first_max=min(limit - reserve, first_max), rest_max=limit)
        if len(even) == count:
            return even
        limit, step = limit + step, 2 * step
    return packets


def _fill(obus: Sequence[bytes], *, first_max: int, rest_max: int) -> list[_Packet]:
    packets = [_Packet(first_max, continues=False)]
    for obu in obus:
        offset = 0
        while offset < len(obu):
            packet = packets[-1]
            length = min(packet.room_bytes(), len(obu) - offset)
            if length <= 0:
                # Nothing of this OBU fits: the packet ends with a whole element, Y stays clear.
                packets.append(_Packet(rest_max, continues=False))
                continue
            packet.add(obu[offset : offset + length])
            offset += length
            if offset < len(obu):
                packet.continued = True
                packets.append(_Packet(rest_max, continues=True))
    return packets


def _whole_obu(data: bytes) -> Obu:
    """A reassembled OBU; senders may have left its size field in (section 4.5: SHOULD)."""
    obu, end = read_obu(data)
    if end != len(data):
        raise RemoteError(f"an OBU ends at {end} of the {len(data)} bytes that came for it")
    return obu


def _leb128_bytes(value: int) -> int:
    return len(write_leb128(value))


def _parse_payload(payload: bytes, *, first: bool) -> tuple[bool, bool, list[bytes]]:
    """Z, Y and the elements of a payload (sections 4.4 and 4.5)."""
    if len(payload) <= AGGREGATION_HEADER_BYTES:
        raise RemoteError("an AV1 payload has no OBU element")
    header = payload[0]
    continues = bool(header & _Z_CONTINUES)
    if header & _N_NEW_SEQUENCE and (continues or not first):
        raise RemoteError("N is set on a packet that cannot begin a coded video sequence")
    count = header >> _W_SHIFT & _W_MAX
    elements: list[bytes] = []
    offset = AGGREGATION_HEADER_BYTES
    while offset < len(payload):
        if count and len(elements) + 1 == count:
            length = len(payload) - offset
        else:
            length, offset = read_leb128(payload, offset)
        if not 0 < length <= len(payload) - offset:
            raise RemoteError(f"an OBU element of {length} in {len(payload) - offset} bytes")
        elements.append(payload[offset : offset + length])
        offset += length
    if count and len(elements) != count:
        raise RemoteError(f"W announces {count} OBU elements, {len(elements)} came")
    return continues, bool(header & _Y_CONTINUED), elements
