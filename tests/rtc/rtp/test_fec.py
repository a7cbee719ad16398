"""Parity gives back any one packet of a group as it was, and nothing where it cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.fec import FecPacket, fec_bits, protect, recover
from codecpilot.rtc.rtp.packet import RtpPacket, parse_rtp

from .fec_groups import (
    PAIR,
    PAIR_DATA,
    SSRC,
    STAMP_IDS,
    bits_of,
    groups,
    parity_byte_by_byte,
    without_stamps,
)

PARITY = bytes.fromhex("0080" + "0003" + "00000030" + "0e02")
PAIR_FEC = FecPacket(media_ssrc=SSRC, sequence_numbers=(1, 2), parity=PARITY)


def test_parity_of_a_pair() -> None:
    assert protect(PAIR_DATA, stamp_ids=()) == PAIR_FEC


def test_a_packet_gives_the_other_of_its_pair() -> None:
    assert recover(PAIR_FEC, bits_of(PAIR[:1])) == PAIR_DATA[1]
    assert recover(PAIR_FEC, bits_of(PAIR[1:])) == PAIR_DATA[0]


@given(groups(max_span=200))
def test_parity_is_what_the_specification_says(group: list[RtpPacket]) -> None:
    fec = protect([p.serialize() for p in group], stamp_ids=STAMP_IDS)
    assert fec.media_ssrc == SSRC
    assert fec.sequence_numbers == tuple(p.sequence_number for p in group)
    assert fec.parity == parity_byte_by_byte(group)


@given(groups(max_span=109))
def test_any_one_lost_packet_comes_back_bit_by_bit(group: list[RtpPacket]) -> None:
    fec = protect([p.serialize() for p in group], stamp_ids=STAMP_IDS)
    for lost in group:
        present = bits_of([p for p in group if p is not lost])
        recovered = recover(fec, present)
        assert recovered == without_stamps(lost).serialize()
        assert parse_rtp(recovered) == without_stamps(lost)


@given(groups(max_span=109), st.data())
def test_stamps_of_a_retransmission_do_not_matter(
    group: list[RtpPacket], data: st.DataObject
) -> None:
    fec = protect([p.serialize() for p in group], stamp_ids=STAMP_IDS)
    lost = data.draw(st.sampled_from(group))
    stamped_anew = [
        replace(
            p,
            extensions=tuple(
                (i, bytes(b ^ 0xFF for b in v) if i in STAMP_IDS else v) for i, v in p.extensions
            ),
        )
        for p in group
        if p is not lost
    ]
    assert recover(fec, bits_of(stamped_anew)) == without_stamps(lost).serialize()


@given(groups(max_span=109), st.data())
def test_a_recovered_packet_helps_to_recover_the_next(
    group: list[RtpPacket], data: st.DataObject
) -> None:
    wire = [p.serialize() for p in group]
    small = protect(wire[: max(1, len(wire) // 2)], stamp_ids=STAMP_IDS)
    large = protect(wire, stamp_ids=STAMP_IDS)
    first = data.draw(st.sampled_from(range(len(small.sequence_numbers))))
    second = len(wire) - 1
    arrived = bits_of([p for i, p in enumerate(group) if i not in (first, second)])
    arrived[group[first].sequence_number] = fec_bits(recover(small, arrived), stamp_ids=STAMP_IDS)
    if first != second:
        assert recover(large, arrived) == without_stamps(group[second]).serialize()


def test_unusual_blocks_come_back_as_they_were() -> None:
    header = bytes.fromhex("90600001" + "00000010" + f"{SSRC:08x}")
    foreign = header + bytes.fromhex("20000001" + "aabbccdd") + b"media"
    padded_inside = bytes.fromhex("90600002" + "00000010" + f"{SSRC:08x}") + bytes.fromhex(
        "bede0003" + "00" + "1141424200" + "000032a1a2a3"
    )
    fec = protect([foreign, padded_inside], stamp_ids={3})
    assert recover(fec, {2: fec_bits(padded_inside, stamp_ids={3})}) == foreign
    assert recover(fec, {1: fec_bits(foreign, stamp_ids={3})}) == padded_inside[:-3] + bytes(3)


def test_parity_over_one_packet_repeats_it() -> None:
    assert recover(protect(PAIR_DATA[:1], stamp_ids=()), {}) == PAIR_DATA[0]


def test_packets_of_another_group_are_a_remote_error() -> None:
    longer = replace(PAIR[0], payload=b"\x01\x02\x03\x04\x05")
    with pytest.raises(RemoteError, match="announces"):
        recover(PAIR_FEC, bits_of([longer]))
    with pytest.raises(RemoteError, match="behind"):
        recover(PAIR_FEC, bits_of([replace(PAIR[0], payload=b"\x01\x03")]))


@pytest.mark.parametrize("length", ["0004", "ffff", "00ff"])
def test_parity_that_lies_about_lengths_is_a_remote_error(length: str) -> None:
    lying = replace(PAIR_FEC, parity=PARITY[:2] + bytes.fromhex(length) + PARITY[4:])
    with pytest.raises(RemoteError):
        recover(lying, bits_of(PAIR[1:]))


def test_parity_shorter_than_the_lost_packet_is_a_remote_error() -> None:
    short = replace(PAIR_FEC, parity=PARITY[:9])
    assert recover(short, bits_of(PAIR[:1])) == PAIR_DATA[1]
    with pytest.raises(RemoteError, match="over 9 bytes announces a packet of 10"):
        recover(short, bits_of(PAIR[1:]))


@given(
    st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=6, unique=True),
    st.binary(min_size=8, max_size=40),
    st.lists(st.binary(min_size=8, max_size=60), min_size=6, max_size=6),
)
def test_any_parity_recovers_rtp_or_raises_remote_error(
    numbers: list[int], parity: bytes, strings: list[bytes]
) -> None:
    fec = FecPacket(media_ssrc=SSRC, sequence_numbers=tuple(numbers), parity=parity)
    present = dict(zip(numbers[1:], strings, strict=False))
    try:
        recovered = recover(fec, present)
    except RemoteError:
        return
    assert 12 <= len(recovered) <= 12 + len(parity) - 8
    assert recovered[0] >> 6 == 2
    assert recovered[2:4] == numbers[0].to_bytes(2, "big")
    assert recovered[8:12] == SSRC.to_bytes(4, "big")


@pytest.mark.parametrize(
    "data", ["", "80600001", "00600001" + "00" * 8, "90600001" + "00" * 8, "8f600001" + "00" * 8]
)
def test_what_is_not_rtp_is_a_remote_error(data: str) -> None:
    with pytest.raises(RemoteError):
        fec_bits(bytes.fromhex(data), stamp_ids={3})


def test_a_packet_of_more_than_16_bits_of_length_is_a_remote_error() -> None:
    longest = PAIR_DATA[0][:12] + bytes(0xFFFF)
    assert len(fec_bits(longest, stamp_ids=())) == 8 + 0xFFFF
    with pytest.raises(RemoteError):
        fec_bits(longest + b"\x00", stamp_ids=())


@pytest.mark.parametrize("present", [PAIR, ()], ids=["none missing", "two missing"])
def test_only_one_packet_can_be_recovered(present: tuple[RtpPacket, ...]) -> None:
    with pytest.raises(LocalError):
        recover(PAIR_FEC, bits_of(present))


@pytest.mark.parametrize(
    "packets",
    [
        (),
        (PAIR_DATA[1], PAIR_DATA[0]),
        (PAIR_DATA[0], PAIR_DATA[0]),
        (PAIR_DATA[0], replace(PAIR[1], ssrc=1).serialize()),
    ],
    ids=["none", "out of order", "the same twice", "two streams"],
)
def test_groups_that_cannot_be_protected_are_local_errors(packets: tuple[bytes, ...]) -> None:
    with pytest.raises(LocalError):
        protect(packets, stamp_ids=())
