from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.h264_payload import (
    MIN_PAYLOAD_BYTES,
    START_CODE,
    assemble_h264,
    is_h264_key,
    is_h264_sequence_start,
    packetize_h264,
)

SPS, PPS, IDR, SLICE = b"\x67sps", b"\x68pps", b"\x65idr", b"\x41slice"

# Bytes from 1 up hold no start code, and end in no zero that would belong to the byte stream.
contents = st.one_of(
    st.lists(st.integers(1, 255), max_size=6).map(bytes),
    st.integers(1, 700).map(lambda n: bytes(1 + i % 255 for i in range(n))),
)
units = st.builds(
    lambda nal_type, ref_idc, content: bytes((ref_idc << 5 | nal_type,)) + content,
    nal_type=st.sampled_from([1, 5, 6, 7, 8, 9]),
    ref_idc=st.integers(0, 3),
    content=contents,
)
access_units = st.lists(units, min_size=1, max_size=6)


def annex_b(*nal_units: bytes) -> bytes:
    return b"".join(START_CODE + unit for unit in nal_units)


@given(access_units, st.integers(MIN_PAYLOAD_BYTES, 1200))
def test_an_access_unit_survives_its_packets(nal_units: list[bytes], limit: int) -> None:
    payloads = packetize_h264(annex_b(*nal_units), max_payload_bytes=limit)
    assert max(map(len, payloads)) <= limit
    assert assemble_h264(payloads) == annex_b(*nal_units)


def test_small_units_share_a_packet() -> None:
    (payload,) = packetize_h264(annex_b(SPS, PPS, IDR), max_payload_bytes=100)
    assert payload.hex() == "78" + "000467737073" + "000468707073" + "000465696472"


def test_a_unit_alone_is_sent_as_it_is() -> None:
    assert packetize_h264(annex_b(SLICE), max_payload_bytes=100) == [SLICE]


def test_a_large_unit_is_cut_evenly() -> None:
    payloads = packetize_h264(annex_b(b"\x65" + b"x" * 100), max_payload_bytes=40)
    assert [payload[:2].hex() for payload in payloads] == ["7c85", "7c05", "7c45"]
    assert [len(payload) for payload in payloads] == [35, 35, 36]


def test_three_byte_start_codes_are_read() -> None:
    assert packetize_h264(b"\0\0\1" + SLICE, max_payload_bytes=100) == [SLICE]


@pytest.mark.parametrize(
    ("nal_units", "key"),
    [
        ([SPS, PPS, IDR], True),
        ([IDR], True),
        ([IDR + b"x" * 200], True),
        ([b"\x06sei", SPS], True),
        ([SLICE], False),
        ([b"\x06sei", SLICE], False),
        ([SLICE + b"x" * 200], False),
    ],
)
def test_key_frames_are_told_by_their_first_packet(nal_units: list[bytes], key: bool) -> None:
    payloads = packetize_h264(annex_b(*nal_units), max_payload_bytes=100)
    assert is_h264_key(payloads[0]) is key


def test_what_follows_the_first_fragment_begins_no_key_frame() -> None:
    payloads = packetize_h264(annex_b(IDR + b"x" * 200), max_payload_bytes=100)
    assert [is_h264_key(payload) for payload in payloads] == [True, False, False]


def test_only_a_payload_with_an_sps_begins_a_sequence() -> None:
    payloads = packetize_h264(annex_b(SPS, PPS, IDR + b"x" * 200), max_payload_bytes=100)
    assert [is_h264_sequence_start(payload) for payload in payloads] == [True, False, False, False]
    assert is_h264_sequence_start(SPS)
    assert not is_h264_sequence_start(IDR)
    assert not is_h264_sequence_start(b"")


@pytest.mark.parametrize("payload", [b"", b"\x7c", b"\x78\x00\x09\x67"])
def test_malformed_payloads_begin_no_key_frame(payload: bytes) -> None:
    assert not is_h264_key(payload)


@pytest.mark.parametrize(
    "payloads",
    [
        [],
        [""],
        ["e5aa"],  # forbidden bit
        ["60"],  # type 0
        ["79000165"],  # STAP-B
        ["7d850000aa"],  # FU-B
        ["78"],  # STAP-A without units
        ["780005656464"],  # STAP-A cut off
        ["780000"],  # STAP-A with an empty unit
        ["78000178"],  # STAP-A within STAP-A
        ["7c"],
        ["7c85"],  # FU-A without content
        ["7cc5aa"],  # starts and ends at once
        ["7c85aa"],  # no end
        ["7c05aa"],  # no start
        ["7c85aa", "7c85aa"],  # starts twice
        ["7c85aa", "7c41aa"],  # another unit's end
        ["7c85aa", "41aa"],  # another unit between
        ["7c98aa", "7c58aa"],  # STAP-A in fragments
    ],
)
def test_violations_are_remote_errors(payloads: list[str]) -> None:
    with pytest.raises(RemoteError):
        assemble_h264([bytes.fromhex(payload) for payload in payloads])


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_random_payloads_assemble_or_raise_remote_error(payloads: list[bytes]) -> None:
    for payload in payloads:
        is_h264_key(payload)
    try:
        assemble_h264(payloads)
    except RemoteError:
        return


@given(access_units, st.integers(10, 200), st.data())
def test_damaged_payloads_assemble_or_raise_remote_error(
    nal_units: list[bytes], limit: int, data: st.DataObject
) -> None:
    payloads = [bytearray(p) for p in packetize_h264(annex_b(*nal_units), max_payload_bytes=limit)]
    index = data.draw(st.integers(0, len(payloads) - 1))
    position = data.draw(st.integers(0, min(len(payloads[index]), 10) - 1))
    damage = data.draw(st.sampled_from(["flip", "cut", "drop", "double"]))
    if damage == "flip":
        payloads[index][position] ^= 1 << data.draw(st.integers(0, 7))
    elif damage == "cut":
        del payloads[index][position:]
    elif damage == "drop":
        del payloads[index]
    else:
        payloads.insert(index, payloads[index])
    try:
        assemble_h264([bytes(payload) for payload in payloads])
    except RemoteError:
        return


@given(st.binary(max_size=60))
def test_random_access_units_packetize_or_raise_remote_error(data: bytes) -> None:
    try:
        packetize_h264(data, max_payload_bytes=20)
    except RemoteError:
        return


def test_misuse_is_a_local_error() -> None:
    with pytest.raises(LocalError, match="at least 3"):
        packetize_h264(annex_b(SLICE), max_payload_bytes=2)
