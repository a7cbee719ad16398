"""OBUs and leb128 are read and written as the AV1 specification has them (5.3, 4.10.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.obu import (
    Obu,
    ObuType,
    read_leb128,
    read_obu,
    read_obus,
    write_leb128,
    write_obu,
    write_obus,
)

OBUS = st.builds(
    Obu,
    type=st.integers(0, 15),
    payload=st.binary(max_size=300),
    temporal_id=st.none(),
    spatial_id=st.none(),
) | st.builds(
    Obu,
    type=st.integers(0, 15),
    payload=st.binary(max_size=20),
    temporal_id=st.integers(0, 7),
    spatial_id=st.integers(0, 3),
)


@pytest.mark.parametrize(
    ("value", "coded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")],
)
def test_leb128_has_seven_bits_a_byte_least_significant_first(value: int, coded: str) -> None:
    assert write_leb128(value).hex() == coded
    assert read_leb128(bytes.fromhex(coded)) == (value, len(coded) // 2)


def test_leb128_may_be_padded_to_eight_bytes_but_not_beyond() -> None:
    assert read_leb128(b"\x85" + b"\x80" * 6 + b"\x00") == (5, 8)
    with pytest.raises(RemoteError, match="no end"):
        read_leb128(b"\x85" + b"\x80" * 7 + b"\x00")


def test_leb128_outside_32_bits_is_refused() -> None:
    with pytest.raises(RemoteError, match=r"2\^32"):
        read_leb128(b"\x80\x80\x80\x80\x10")
    for value in (-1, 2**32):
        with pytest.raises(LocalError, match=r"outside 0\.\.4294967295"):
            write_leb128(value)


@given(value=st.integers(0, 2**32 - 1), before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_leb128_reads_back_what_was_written_anywhere(
    value: int, before: bytes, after: bytes
) -> None:
    coded = write_leb128(value)
    assert read_leb128(before + coded + after, len(before)) == (value, len(before) + len(coded))


def test_a_unit_is_header_extension_size_and_payload() -> None:
    obu = Obu(type=ObuType.FRAME, payload=b"abc", temporal_id=1, spatial_id=2)
    assert write_obu(obu) == bytes([6 << 3 | 0b110, 1 << 5 | 2 << 3, 3]) + b"abc"
    assert write_obu(obu, has_size=False) == bytes([6 << 3 | 0b100, 1 << 5 | 2 << 3]) + b"abc"
    assert write_obu(Obu(type=ObuType.TEMPORAL_DELIMITER, payload=b"")) == b"\x12\x00"


@given(st.lists(OBUS, max_size=6))
def test_units_read_back_as_written(obus: list[Obu]) -> None:
    assert list(read_obus(write_obus(obus))) == obus


@given(OBUS)
def test_a_unit_without_size_reaches_to_the_end(obu: Obu) -> None:
    data = write_obu(obu, has_size=False)
    assert read_obu(data) == (obu, len(data))


def test_a_cut_off_unit_is_a_remote_error_at_every_length() -> None:
    data = write_obu(Obu(type=6, payload=bytes(200), temporal_id=0, spatial_id=0))
    for length in range(1, len(data)):
        with pytest.raises(RemoteError):
            list(read_obus(data[:length]))


def test_the_forbidden_bit_is_refused() -> None:
    with pytest.raises(RemoteError, match="forbidden bit"):
        list(read_obus(b"\x92\x00"))


@pytest.mark.parametrize("fields", [{"type": 16}, {"temporal_id": 8}, {"spatial_id": 4}])
def test_fields_that_do_not_fit_are_a_local_error(fields: dict[str, int]) -> None:
    with pytest.raises(LocalError, match="outside"):
        write_obu(Obu(**{"type": 6, **fields}, payload=b""))  # type: ignore[arg-type]


@given(st.binary(max_size=100))
def test_garbage_gives_units_or_a_remote_error(data: bytes) -> None:
    try:
        obus = list(read_obus(data))
    except RemoteError:
        return
    assert sum(len(obu.payload) for obu in obus) <= len(data)
