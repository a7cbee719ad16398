from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.bits import BitReader, BitWriter
from codecpilot.codecs.errors import LocalError, RemoteError

fields = st.integers(1, 40).flatmap(
    lambda count: st.tuples(st.integers(0, (1 << count) - 1), st.just(count))
)
choices = st.integers(1, 70).flatmap(
    lambda values: st.tuples(st.integers(0, values - 1), st.just(values))
)


@given(st.lists(fields, max_size=20))
def test_fields_survive(content: list[tuple[int, int]]) -> None:
    writer = BitWriter()
    for value, count in content:
        writer.write(value, count)
    reader = BitReader(writer.to_bytes())
    assert [reader.read(count) for _, count in content] == [value for value, _ in content]


@given(st.lists(choices, max_size=20))
def test_non_symmetric_numbers_survive(content: list[tuple[int, int]]) -> None:
    writer = BitWriter()
    for value, values in content:
        writer.write_non_symmetric(value, values)
    reader = BitReader(writer.to_bytes())
    assert [reader.non_symmetric(n) for _, n in content] == [value for value, _ in content]


def test_non_symmetric_codes_of_five_as_the_specification_lists_them() -> None:
    codes = {0: "00", 1: "01", 2: "10", 3: "110", 4: "111"}
    for value, code in codes.items():
        writer = BitWriter()
        writer.write_non_symmetric(value, 5)
        assert writer.to_bytes()[0] == int(code.ljust(8, "0"), 2)


def test_one_possible_value_takes_no_bit() -> None:
    writer = BitWriter()
    writer.write_non_symmetric(0, 1)
    assert writer.to_bytes() == b""
    assert BitReader(b"").non_symmetric(1) == 0


def test_reading_past_the_end_is_a_remote_error() -> None:
    reader = BitReader(b"\xa0")
    assert reader.read(4) == 10
    with pytest.raises(RemoteError, match="4 are left"):
        reader.read(5)


def test_values_too_large_for_their_field_are_local_errors() -> None:
    writer = BitWriter()
    with pytest.raises(LocalError):
        writer.write(4, 2)
    with pytest.raises(LocalError):
        writer.write(-1, 2)
    with pytest.raises(LocalError):
        writer.write_non_symmetric(5, 5)
