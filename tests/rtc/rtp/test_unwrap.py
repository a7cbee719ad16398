from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.rtc.rtp.unwrap import Unwrapper


def test_first_value_stands_for_itself() -> None:
    assert Unwrapper(16).unwrap(65535) == 65535


def test_wrap_forward_and_reordering_back_across_it() -> None:
    unwrapper = Unwrapper(16)
    assert [unwrapper.unwrap(v) for v in (65534, 65535, 1, 0, 65533, 2)] == [
        65534,
        65535,
        65537,
        65536,
        65533,
        65538,
    ]


def test_older_than_the_first_value_is_negative() -> None:
    unwrapper = Unwrapper(16)
    unwrapper.unwrap(1)
    assert unwrapper.unwrap(65535) == -1


def test_half_the_range_counts_as_newer_and_one_more_as_older() -> None:
    unwrapper = Unwrapper(16)
    unwrapper.unwrap(0)
    assert unwrapper.peek(32768) == 32768
    assert unwrapper.peek(32769) == -32767


def test_peek_does_not_move_the_reference() -> None:
    unwrapper = Unwrapper(16)
    unwrapper.unwrap(10)
    unwrapper.peek(20000)
    assert unwrapper.unwrap(40000) == 40000 - 65536


def test_counter_without_bits_is_refused() -> None:
    with pytest.raises(LocalError, match="0 bits"):
        Unwrapper(0)


@given(
    bits=st.sampled_from([16, 32]),
    start=st.integers(0, 2**34),
    steps=st.lists(st.integers(-30000, 30000), max_size=50),
)
def test_any_walk_in_steps_below_half_the_range_is_followed(
    bits: int, start: int, steps: list[int]
) -> None:
    unwrapper = Unwrapper(bits)
    mask = (1 << bits) - 1
    offset = start - unwrapper.unwrap(start & mask)
    position = start
    for step in steps:
        position += step
        assert unwrapper.unwrap(position & mask) + offset == position
