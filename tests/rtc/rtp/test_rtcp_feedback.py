"""NACKs name any set of numbers in as few entries as there can be."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.rtp.rtcp import Nack, parse_rtcp, serialize_rtcp


def test_nack_across_the_wrap_fits_one_entry() -> None:
    nack = Nack(sender_ssrc=1, media_ssrc=2, lost=(0, 65535, 14, 65534))
    assert serialize_rtcp([nack])[12:].hex() == "fffe" + f"{1 | 2 | 1 << 15:04x}"
    (read,) = parse_rtcp(serialize_rtcp([nack]))
    assert isinstance(read, Nack)
    assert read.lost == (65534, 65535, 0, 14)


def test_nack_just_beyond_the_mask_needs_a_second_entry() -> None:
    near = Nack(sender_ssrc=1, media_ssrc=2, lost=(100, 116))
    far = Nack(sender_ssrc=1, media_ssrc=2, lost=(100, 117))
    assert len(serialize_rtcp([near])) == 16
    assert len(serialize_rtcp([far])) == 20


@given(st.sets(st.integers(0, 80).map(lambda n: (65500 + n) & 0xFFFF), min_size=1))
def test_nack_names_the_set_in_as_few_entries_as_possible(lost: set[int]) -> None:
    wire = serialize_rtcp([Nack(sender_ssrc=1, media_ssrc=2, lost=tuple(lost))])
    (read,) = parse_rtcp(wire)
    assert isinstance(read, Nack)
    assert len(read.lost) == len(lost)
    assert set(read.lost) == lost
    ordered = sorted((n - 65500) & 0xFFFF for n in lost)
    fewest = 0
    covered = -math.inf
    for number in ordered:
        if number > covered:
            fewest, covered = fewest + 1, number + 16
    assert (len(wire) - 12) // 4 == fewest


@given(st.sets(st.integers(0, 65535), min_size=1, max_size=30))
def test_nack_names_any_set(lost: set[int]) -> None:
    (read,) = parse_rtcp(serialize_rtcp([Nack(sender_ssrc=1, media_ssrc=2, lost=tuple(lost))]))
    assert isinstance(read, Nack)
    assert sorted(read.lost) == sorted(lost)
