"""Status chunks say of each packet whether it arrived, in as few chunks as can be."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import RemoteError
from codecpilot.rtc.rtp.packet_status import MAX_RUN, read_chunks, write_chunks

symbol_lists = st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=60) | st.lists(
    st.tuples(st.sampled_from([0, 1, 1, 2]), st.integers(1, 30)), min_size=1, max_size=12
).map(lambda runs: [symbol for symbol, run in runs for _ in range(run)])


def read(wire: str, *, count: int) -> list[int]:
    runs, offset = read_chunks(bytes.fromhex(wire), 0, count=count)
    assert offset == len(wire) // 2
    return [symbol for symbol, run in runs for _ in range(run)]


@pytest.mark.parametrize(
    ("symbols", "wire"),
    [
        ([1] * 3, "2003"),
        ([0] * 8191, "1fff"),
        ([0] * 8192, "1fff0001"),
        ([2] * 100, "4064"),
        ([1, 0] * 7, "aaaa"),
        ([1, 0, 1, 2, 2], "d1a0"),
        ([2, 0, 1, 0, 1, 1, 0], "e114"),
        # One run falls into two chunks, since the vector then ends where the large ones begin.
        ([1] * 20 + [0] + [1] * 12 + [2] * 30, "2013" + "afff" + "401e"),
    ],
)
def test_known_chunks(symbols: list[int], wire: str) -> None:
    assert write_chunks(bytes(symbols)).hex() == wire
    assert read(wire, count=len(symbols)) == symbols


@pytest.mark.parametrize(
    ("wire", "count", "symbols"),
    [
        ("2fff", 4, [1] * 4),  # a run beyond the status count
        ("bfff", 5, [1] * 5),  # a vector beyond it
        ("d1af", 5, [1, 0, 1, 2, 2]),  # and what it says there, be it reserved
        ("00002002", 2, [1, 1]),  # a run of nothing
        ("20018000", 2, [1, 0]),  # a vector of one bit that one packet needs
    ],
)
def test_chunks_that_do_not_end_with_the_count(wire: str, count: int, symbols: list[int]) -> None:
    assert read(wire, count=count) == symbols


@pytest.mark.parametrize(
    ("wire", "count"),
    [("", 1), ("20", 1), ("2003", 4), ("bfff", 15), ("d555", 8), ("6001", 1), ("f000", 1)],
)
def test_chunks_that_end_early_or_hold_the_reserved_symbol_are_refused(
    wire: str, count: int
) -> None:
    with pytest.raises(RemoteError):
        read_chunks(bytes.fromhex(wire), 0, count=count)


@given(symbol_lists)
def test_any_symbols_survive_in_as_few_chunks_as_can_be(symbols: list[int]) -> None:
    wire = write_chunks(bytes(symbols))
    assert read(wire.hex(), count=len(symbols)) == symbols
    assert len(wire) == 2 * fewest_chunks(symbols)


def test_a_long_run_costs_a_chunk_in_8191() -> None:
    assert len(write_chunks(bytes(3 * MAX_RUN + 1))) == 2 * 4


def fewest_chunks(symbols: list[int]) -> int:
    """By trying every chunk at every place."""
    count = len(symbols)

    @cache
    def from_here(start: int) -> int:
        if start == count:
            return 0
        ends = {min(start + 7, count)}
        if 2 not in symbols[start : start + 14]:
            ends.add(min(start + 14, count))
        end = start
        while end < count and symbols[end] == symbols[start]:
            end += 1
            ends.add(end)
        return 1 + min(map(from_here, ends))

    return from_here(0)
