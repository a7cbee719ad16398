"""H.264 in RTP, packetization-mode 1: single NAL units, STAP-A and FU-A (RFC 6184).

Section numbers are those of RFC 6184.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.nal import NalType, parse_header, split_annex_b

START_CODE = b"\0\0\0\1"
MIN_PAYLOAD_BYTES = 3  # FU indicator, FU header and a byte

# Sections 5.7.1 (STAP-A), 5.8 (FU-A) and 1.3 (the NAL unit's header).
_STAP_LENGTH_BYTES = 2
_FU_HEADER_BYTES = 2
_FU_START, _FU_END = 0x80, 0x40
_NAL_TYPE_MASK, _REF_IDC_MASK = 0x1F, 0x60
_LAST_SINGLE_TYPE = 23  # table 1: 24 and above are RFC 6184's own packet types


def packetize_h264(access_unit: bytes, *, max_payload_bytes: int) -> list[bytes]:
    """The RTP payloads of one Annex B access unit.

    Neighbouring NAL units that fit a packet together share one (STAP-A), those that fit none are
    cut into fragments of even size (FU-A). Raises LocalError for a limit below 3 bytes, RemoteError
    for a byte stream without NAL units.
    """
    if max_payload_bytes < MIN_PAYLOAD_BYTES:
        raise LocalError(
            f"max_payload_bytes {max_payload_bytes} must be at least {MIN_PAYLOAD_BYTES}"
        )
    payloads: list[bytes] = []
    group: list[bytes] = []
    for unit in split_annex_b(access_unit):
        if group and _stap_bytes([*group, unit]) > max_payload_bytes:
            payloads.append(_single_or_stap(group))
            group = []
        if len(unit) > max_payload_bytes:
            payloads += _fragments(unit, max_payload_bytes)
        else:
            group.append(unit)
    if group:
        payloads.append(_single_or_stap(group))
    return payloads


def assemble_h264(payloads: Sequence[bytes]) -> bytes:
    """The Annex B access unit in the payloads of all its packets, in order.

    Raises RemoteError for packet types of another packetization mode, gaps in a fragmented NAL unit
    and truncated aggregates.
    """
    units: list[bytes] = []
    fragments: list[bytes] = []
    for payload in payloads:
        nal_type = parse_header(payload).nal_type
        if nal_type == NalType.FU_A:
            _add_fragment(fragments, payload)
            if payload[1] & _FU_END:
                units.append(b"".join(fragments))
                fragments = []
            continue
        if fragments:
            raise RemoteError("a fragmented NAL unit has no end")
        units += _read_stap(payload) if nal_type == NalType.STAP_A else [_checked_unit(payload)]
    if fragments or not units:
        raise RemoteError("an access unit ends inside a NAL unit, or has none")
    return b"".join(START_CODE + unit for unit in units)


def is_h264_key(payload: bytes) -> bool:
    """Whether a payload is of a key frame: it holds an SPS, or an IDR slice or its beginning."""
    return not _types_begun(payload).isdisjoint((NalType.IDR, NalType.SPS))


def is_h264_sequence_start(payload: bytes) -> bool:
    """Whether a payload begins a coded video sequence, and so an access unit: it holds an SPS."""
    return NalType.SPS in _types_begun(payload)


def _types_begun(payload: bytes) -> frozenset[int]:
    """Types of the NAL units that begin in a payload; none for one that cannot be read."""
    if not payload:
        return frozenset()
    nal_type = payload[0] & _NAL_TYPE_MASK
    if nal_type == NalType.STAP_A:
        try:
            return frozenset(unit[0] & _NAL_TYPE_MASK for unit in _read_stap(payload))
        except RemoteError:
            return frozenset()
    if nal_type == NalType.FU_A:
        begins = len(payload) > 1 and payload[1] & _FU_START
        return frozenset((payload[1] & _NAL_TYPE_MASK,)) if begins else frozenset()
    return frozenset((nal_type,))


def _stap_bytes(units: Sequence[bytes]) -> int:
    return 1 + sum(_STAP_LENGTH_BYTES + len(unit) for unit in units)


def _single_or_stap(units: Sequence[bytes]) -> bytes:
    """Sections 5.6 and 5.7.1."""
    if len(units) == 1:
        return units[0]
    # Section 5.7: the aggregate's NRI is the highest of its units', its F bit their OR (here 0).
    ref_idc = max(unit[0] & _REF_IDC_MASK for unit in units)
    parts = [bytes((ref_idc | NalType.STAP_A,))]
    for unit in units:
        parts += [len(unit).to_bytes(_STAP_LENGTH_BYTES, "big"), unit]
    return b"".join(parts)


def _fragments(unit: bytes, max_payload_bytes: int) -> Iterator[bytes]:
    """Section 5.8. The NAL unit's header travels in the FU indicator and header."""
    indicator = unit[0] & _REF_IDC_MASK | NalType.FU_A
    nal_type = unit[0] & _NAL_TYPE_MASK
    content = unit[1:]
    count = -(-len(content) // (max_payload_bytes - _FU_HEADER_BYTES))
    for index in range(count):
        start, end = index * len(content) // count, (index + 1) * len(content) // count
        flags = (_FU_START if index == 0 else 0) | (_FU_END if index + 1 == count else 0)
        yield bytes((indicator, flags | nal_type)) + content[start:end]


def _read_stap(payload: bytes) -> list[bytes]:
    """Section 5.7.1."""
    units = []
    offset = 1
    while offset < len(payload):
        length = int.from_bytes(payload[offset : offset + _STAP_LENGTH_BYTES], "big")
        start = offset + _STAP_LENGTH_BYTES
        if start + length > len(payload):
            raise RemoteError(f"a NAL unit of {length} bytes runs past its STAP-A")
        units.append(_checked_unit(payload[start : start + length]))
        offset = start + length
    if not units:
        raise RemoteError("a STAP-A without NAL units")
    return units


def _checked_unit(unit: bytes) -> bytes:
    nal_type = parse_header(unit).nal_type
    if not 1 <= nal_type <= _LAST_SINGLE_TYPE:
        raise RemoteError(f"NAL unit type {nal_type} is none of packetization-mode 1")
    return unit


def _add_fragment(fragments: list[bytes], payload: bytes) -> None:
    """Section 5.8: starts once, ends once, not both, and carries at least a byte."""
    if len(payload) <= _FU_HEADER_BYTES:
        raise RemoteError("a FU-A without content")
    starts = bool(payload[1] & _FU_START)
    nal_header = bytes((payload[0] & _REF_IDC_MASK | payload[1] & _NAL_TYPE_MASK,))
    if starts == bool(fragments) or (starts and payload[1] & _FU_END):
        raise RemoteError("fragments of a NAL unit are out of order")
    if starts:
        fragments.append(_checked_unit(nal_header))
    elif nal_header != fragments[0]:
        raise RemoteError("fragments of two NAL units are mixed")
    fragments.append(payload[_FU_HEADER_BYTES:])
