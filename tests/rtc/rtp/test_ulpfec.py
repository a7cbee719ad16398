from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.fec import FecPacket, protect, recover
from codecpilot.rtc.rtp.packet import RtpPacket, parse_rtp
from codecpilot.rtc.rtp.ulpfec import MAX_SPAN, parse_ulpfec, serialize_ulpfec

from .fec_groups import PAIR, PAIR_DATA, SSRC, STAMP_IDS, bits_of, groups, without_stamps

HEAD = "0080" + "0001" + "00000030" + "0003"
PAIR_WIRE = HEAD + "0002" + "c000" + "0e02"


def over(*offsets: int) -> FecPacket:
    numbers = tuple((65535 + offset) & 0xFFFF for offset in offsets)
    return FecPacket(media_ssrc=SSRC, sequence_numbers=numbers, parity=bytes(9))


def test_known_bytes_of_a_pair() -> None:
    assert serialize_ulpfec(protect(PAIR_DATA, stamp_ids=())).hex() == PAIR_WIRE
    fec = parse_ulpfec(bytes.fromhex(PAIR_WIRE), media_ssrc=SSRC)
    assert recover(fec, bits_of(PAIR[1:])) == PAIR_DATA[0]


@pytest.mark.parametrize(
    ("offsets", "flags", "mask"),
    [
        ((0,), "00", "8000"),
        ((0, 15), "00", "8001"),
        ((0, 16), "40", "800080000000"),
        ((0, 1, 47), "40", "c00000000001"),
    ],
)
def test_the_mask_is_the_shorter_of_two(offsets: tuple[int, ...], flags: str, mask: str) -> None:
    wire = serialize_ulpfec(over(*offsets))
    assert wire.hex() == flags + "00" + "ffff" + "00" * 6 + "0001" + mask + "00"
    assert parse_ulpfec(wire, media_ssrc=SSRC) == over(*offsets)


@given(groups(max_span=MAX_SPAN))
def test_any_one_lost_packet_comes_back_over_the_wire(group: list[RtpPacket]) -> None:
    sent = protect([p.serialize() for p in group], stamp_ids=STAMP_IDS)
    fec = parse_ulpfec(serialize_ulpfec(sent), media_ssrc=SSRC)
    assert fec == sent
    for lost in group:
        recovered = recover(fec, bits_of([p for p in group if p is not lost]))
        assert recovered == without_stamps(lost).serialize()


def test_further_levels_are_ignored() -> None:
    fec = parse_ulpfec(bytes.fromhex(PAIR_WIRE + "0001" + "c000" + "ff"), media_ssrc=SSRC)
    assert fec == parse_ulpfec(bytes.fromhex(PAIR_WIRE), media_ssrc=SSRC)


@pytest.mark.parametrize(
    "wire",
    [
        "",
        HEAD + "00",  # no protection length
        HEAD + "0000" + "80",  # half a mask
        "40" + HEAD[2:] + "0000" + "8000000000",  # a long mask truncated
        HEAD + "0003" + "c000" + "0e02",  # more protected than is there
        HEAD + "ffff" + "c000" + "0e02",
        HEAD + "0002" + "0000" + "0e02",  # nothing protected
        "40" + HEAD[2:] + "0000" + "000000000000",
        "80" + PAIR_WIRE[2:],  # extension flag
    ],
)
def test_malformed_blocks_are_remote_errors(wire: str) -> None:
    with pytest.raises(RemoteError):
        parse_ulpfec(bytes.fromhex(wire), media_ssrc=SSRC)


@given(st.binary(max_size=50))
def test_random_bytes_parse_or_raise_remote_error(data: bytes) -> None:
    try:
        fec = parse_ulpfec(data, media_ssrc=SSRC)
    except RemoteError:
        return
    assert 1 <= len(fec.sequence_numbers) <= MAX_SPAN
    assert parse_ulpfec(serialize_ulpfec(fec), media_ssrc=SSRC) == fec


@given(groups(max_span=MAX_SPAN), st.data())
def test_damaged_blocks_recover_rtp_or_raise_remote_error(
    group: list[RtpPacket], data: st.DataObject
) -> None:
    wire = bytearray(serialize_ulpfec(protect([p.serialize() for p in group], stamp_ids=())))
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, min(len(wire), 30) - 1))] = data.draw(st.integers(0, 255))
    try:
        block = bytes(wire[: data.draw(st.integers(0, len(wire)))])
        fec = parse_ulpfec(block, media_ssrc=SSRC)
        arrived = list(bits_of(group).values())
        others = fec.sequence_numbers[1:]
        parse_rtp(recover(fec, {n: arrived[i % len(arrived)] for i, n in enumerate(others)}))
    except RemoteError:
        return


def test_a_group_that_spans_more_than_a_mask_is_a_local_error() -> None:
    assert len(serialize_ulpfec(over(0, 47))) == 12 + 6 + 1
    with pytest.raises(LocalError, match="49"):
        serialize_ulpfec(over(0, 48))
