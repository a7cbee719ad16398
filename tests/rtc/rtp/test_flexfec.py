from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.fec import FecPacket, protect, recover
from codecpilot.rtc.rtp.flexfec import MAX_SPAN, parse_flexfec, serialize_flexfec
from codecpilot.rtc.rtp.packet import RtpPacket, parse_rtp

from .fec_groups import PAIR, PAIR_DATA, SSRC, STAMP_IDS, bits_of, groups, without_stamps

HEAD = "00800003" + "00000030"
STREAM = "01000000" + "0a0b0c0d"
PAIR_WIRE = HEAD + STREAM + "0001" + "e000" + "0e02"


def over(*offsets: int) -> FecPacket:
    numbers = tuple((65535 + offset) & 0xFFFF for offset in offsets)
    return FecPacket(media_ssrc=SSRC, sequence_numbers=numbers, parity=bytes(8))


def test_known_bytes_of_a_pair() -> None:
    assert serialize_flexfec(protect(PAIR_DATA, stamp_ids=())).hex() == PAIR_WIRE
    fec = parse_flexfec(bytes.fromhex(PAIR_WIRE))
    assert recover(fec, bits_of(PAIR[:1])) == PAIR_DATA[1]


@pytest.mark.parametrize(
    ("offsets", "mask"),
    [
        ((0,), "c000"),
        ((0, 14), "c001"),
        ((0, 15), "4000" + "c0000000"),
        ((0, 1, 45), "6000" + "80000001"),
        ((0, 46), "4000" + "00000000" + "c000000000000000"),
        ((0, 44, 108), "4000" + "00000002" + "8000000000000001"),
    ],
)
def test_the_mask_is_the_shortest_of_three(offsets: tuple[int, ...], mask: str) -> None:
    wire = serialize_flexfec(over(*offsets))
    assert wire.hex() == "00" * 8 + STREAM + "ffff" + mask
    assert parse_flexfec(wire) == over(*offsets)


@given(groups(max_span=MAX_SPAN))
def test_any_one_lost_packet_comes_back_over_the_wire(group: list[RtpPacket]) -> None:
    sent = protect([p.serialize() for p in group], stamp_ids=STAMP_IDS)
    fec = parse_flexfec(serialize_flexfec(sent))
    assert fec == sent
    for lost in group:
        recovered = recover(fec, bits_of([p for p in group if p is not lost]))
        assert recovered == without_stamps(lost).serialize()


def test_a_base_that_is_not_protected_itself() -> None:
    fec = parse_flexfec(bytes.fromhex(HEAD + STREAM + "ffff" + "b000"))
    assert fec.sequence_numbers == (0, 1)
    assert fec == FecPacket(
        media_ssrc=SSRC, sequence_numbers=(0, 1), parity=bytes.fromhex("0080000300000030")
    )


@pytest.mark.parametrize(
    "wire",
    [
        "",
        HEAD + STREAM,  # no base
        HEAD + STREAM + "0001",  # no mask
        HEAD + STREAM + "0001" + "e0",  # half a mask
        HEAD + STREAM + "0001" + "6000" + "800000",  # the second part truncated
        HEAD + STREAM + "0001" + "6000" + "40000000" + "80000000000000",  # the third truncated
        HEAD + STREAM + "0001" + "6000" + "40000000" + "4000000000000000",  # a fourth part
        HEAD + STREAM + "0001" + "8000",  # nothing protected
        HEAD + STREAM + "0001" + "0000" + "80000000",
        HEAD + STREAM + "0001" + "0000" + "00000000" + "8000000000000000",
        "80" + PAIR_WIRE[2:],  # retransmission
        "40" + PAIR_WIRE[2:],  # fixed mask
        HEAD + "00000000" + PAIR_WIRE[24:],  # no stream
        HEAD + "02000000" + PAIR_WIRE[24:],  # two streams
    ],
)
def test_malformed_packets_are_remote_errors(wire: str) -> None:
    with pytest.raises(RemoteError):
        parse_flexfec(bytes.fromhex(wire))


@given(st.binary(max_size=60))
def test_random_bytes_parse_or_raise_remote_error(data: bytes) -> None:
    try:
        fec = parse_flexfec(data)
    except RemoteError:
        return
    assert 1 <= len(fec.sequence_numbers) <= MAX_SPAN
    assert parse_flexfec(serialize_flexfec(fec)) == fec


@given(groups(max_span=60), st.data())
def test_damaged_packets_recover_rtp_or_raise_remote_error(
    group: list[RtpPacket], data: st.DataObject
) -> None:
    wire = bytearray(serialize_flexfec(protect([p.serialize() for p in group], stamp_ids=())))
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, min(len(wire), 40) - 1))] = data.draw(st.integers(0, 255))
    try:
        fec = parse_flexfec(bytes(wire[: data.draw(st.integers(0, len(wire)))]))
        arrived = list(bits_of(group).values())
        others = fec.sequence_numbers[1:]
        parse_rtp(recover(fec, {n: arrived[i % len(arrived)] for i, n in enumerate(others)}))
    except RemoteError:
        return


def test_a_group_that_spans_more_than_a_mask_is_a_local_error() -> None:
    assert len(serialize_flexfec(over(0, 108))) == 32
    with pytest.raises(LocalError, match="110"):
        serialize_flexfec(over(0, 109))
