from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.rtc.rtp.extensions import (
    ABS_CAPTURE_TIME,
    ABS_SEND_TIME,
    DEPENDENCY_DESCRIPTOR,
    LTR,
    LTR_ACK,
    MID,
    PLAYOUT_DELAY,
    TRANSPORT_CC,
    AbsCaptureTime,
    ExtensionMap,
    HeaderExtensions,
    LtrMark,
    PlayoutDelay,
    abs_send_time,
    ntp_from_us,
    us_from_ntp,
)
from codecpilot.rtc.rtp.packet import RtpPacket, parse_rtp

URIS = (
    MID,
    ABS_SEND_TIME,
    TRANSPORT_CC,
    DEPENDENCY_DESCRIPTOR,
    ABS_CAPTURE_TIME,
    PLAYOUT_DELAY,
    LTR,
    LTR_ACK,
)
ALL = ExtensionMap({uri: i for i, uri in enumerate(URIS, start=1)})

values = st.builds(
    HeaderExtensions,
    mid=st.none() | st.text("0123456789ab", min_size=1, max_size=16),
    abs_send_time=st.none() | st.integers(0, 0xFFFFFF),
    transport_sequence_number=st.none() | st.integers(0, 0xFFFF),
    dependency_descriptor=st.none() | st.binary(min_size=3, max_size=40),
    abs_capture_time=st.none()
    | st.builds(
        AbsCaptureTime,
        ntp_timestamp=st.integers(0, 2**64 - 1),
        clock_offset=st.none() | st.integers(-(2**63), 2**63 - 1),
    ),
    playout_delay=st.none()
    | st.tuples(st.integers(0, 4095), st.integers(0, 4095)).map(
        lambda pair: PlayoutDelay(min_ms=10 * min(pair), max_ms=10 * max(pair))
    ),
    ltr=st.none()
    | st.builds(
        LtrMark,
        is_ltr=st.booleans(),
        is_recovery=st.booleans(),
        frame_id=st.integers(0, 0xFFFF),
    ),
    ltr_ack=st.none() | st.integers(0, 0xFFFF),
)


def packet(*extensions: tuple[int, bytes]) -> RtpPacket:
    return RtpPacket(96, False, 1, 2, 3, b"", extensions=extensions)


@given(values)
def test_values_survive_the_wire(extensions: HeaderExtensions) -> None:
    sent = packet(*ALL.pack(extensions))
    assert ALL.unpack(parse_rtp(sent.serialize())) == extensions


def test_what_was_not_negotiated_is_neither_sent_nor_read() -> None:
    only_mid = ExtensionMap({MID: 4})
    assert only_mid.pack(HeaderExtensions(mid="0", abs_send_time=1)) == ((4, b"0"),)
    assert only_mid.unpack(packet((4, b"0"), (2, b"abc"))) == HeaderExtensions(mid="0")
    assert MID in only_mid
    assert ABS_SEND_TIME not in only_mid


def test_an_unknown_uri_keeps_its_id_out_of_use() -> None:
    extensions = ExtensionMap({"urn:example:other": 3, MID: 4})
    assert extensions.ids == {"urn:example:other": 3, MID: 4}
    assert extensions.unpack(packet((3, b"x"))) == HeaderExtensions()


def test_the_first_of_two_values_counts() -> None:
    assert ALL.unpack(packet((1, b"a"), (1, b"b"))).mid == "a"


def test_send_time_is_six_bits_of_seconds_and_eighteen_of_fraction() -> None:
    assert abs_send_time(0) == 0
    assert abs_send_time(1_500_000) == 3 << 17
    assert abs_send_time(64_000_000) == 0
    assert abs_send_time(63_999_999) == 0xFFFFFF


@given(st.integers(0, 2**32 * 1_000_000 - 1))
def test_ntp_time_gives_the_microsecond_back(time_us: int) -> None:
    assert us_from_ntp(ntp_from_us(time_us)) == time_us


def test_capture_time_bytes() -> None:
    time = AbsCaptureTime(ntp_timestamp=ntp_from_us(2_500_000), clock_offset=-(1 << 31))
    ((_, data),) = ALL.pack(HeaderExtensions(abs_capture_time=time))
    assert data.hex() == "0000000280000000" + "ffffffff80000000"


def test_playout_delay_bytes() -> None:
    ((_, data),) = ALL.pack(HeaderExtensions(playout_delay=PlayoutDelay(min_ms=100, max_ms=40950)))
    assert data.hex() == "00afff"


@pytest.mark.parametrize(
    ("is_ltr", "is_recovery", "flags"),
    [(True, False, "80"), (False, True, "40"), (True, True, "c0")],
)
def test_ltr_mark_bytes(is_ltr: bool, is_recovery: bool, flags: str) -> None:
    mark = LtrMark(is_ltr=is_ltr, is_recovery=is_recovery, frame_id=0x012D)
    assert ALL.pack(HeaderExtensions(ltr=mark)) == ((7, bytes.fromhex(flags + "012d")),)


def test_reserved_bits_of_an_ltr_mark_are_ignored() -> None:
    mark = LtrMark(is_ltr=True, is_recovery=False, frame_id=0x012D)
    assert ALL.unpack(packet((7, bytes.fromhex("bf012d")))).ltr == mark


def test_ltr_acknowledgement_bytes() -> None:
    assert ALL.pack(HeaderExtensions(ltr_ack=0x012D)) == ((8, bytes.fromhex("012d")),)


def test_stamps_are_what_says_when_a_packet_left() -> None:
    assert ALL.stamp_ids == {2, 3}
    assert ExtensionMap({MID: 4, TRANSPORT_CC: 200}).stamp_ids == {200}


@pytest.mark.parametrize(
    ("extension_id", "data"),
    [
        (1, b"\xff"),
        (2, b"ab"),
        (3, b"abc"),
        (5, b"seven.."),
        (5, bytes(15)),
        (6, b"ab"),
        (6, bytes.fromhex("001000")),
        (7, b"ab"),
        (7, b"abcd"),
        (8, b"a"),
        (8, b"abc"),
    ],
)
def test_values_of_the_wrong_form_are_remote_errors(extension_id: int, data: bytes) -> None:
    with pytest.raises(RemoteError):
        ALL.unpack(packet((extension_id, data)))


@given(st.lists(st.tuples(st.integers(1, 255), st.binary(max_size=20)), max_size=6))
def test_random_values_unpack_or_raise_remote_error(pairs: list[tuple[int, bytes]]) -> None:
    try:
        ALL.unpack(packet(*pairs))
    except RemoteError:
        return


@pytest.mark.parametrize(
    "extensions",
    [
        HeaderExtensions(mid=""),
        HeaderExtensions(mid="é"),
        HeaderExtensions(abs_send_time=1 << 24),
        HeaderExtensions(transport_sequence_number=-1),
        HeaderExtensions(abs_capture_time=AbsCaptureTime(ntp_timestamp=1 << 64)),
        HeaderExtensions(playout_delay=PlayoutDelay(min_ms=20, max_ms=10)),
        HeaderExtensions(playout_delay=PlayoutDelay(min_ms=0, max_ms=40960)),
        HeaderExtensions(ltr=LtrMark(is_ltr=True, is_recovery=False, frame_id=65536)),
        HeaderExtensions(ltr=LtrMark(is_ltr=True, is_recovery=False, frame_id=-1)),
        HeaderExtensions(ltr_ack=65536),
    ],
)
def test_values_out_of_range_are_local_errors(extensions: HeaderExtensions) -> None:
    with pytest.raises(LocalError):
        ALL.pack(extensions)


@pytest.mark.parametrize("ids", [{MID: 0}, {MID: 256}, {MID: 1, ABS_SEND_TIME: 1}])
def test_ids_out_of_range_or_shared_are_local_errors(ids: dict[str, int]) -> None:
    with pytest.raises(LocalError):
        ExtensionMap(ids)
