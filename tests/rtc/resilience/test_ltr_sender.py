from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.resilience.ltr_sender import MAX_LTRS, LtrSender


def sender(*frame_ids: int) -> LtrSender:
    ltrs = LtrSender()
    for frame_id in frame_ids:
        ltrs.sent(frame_id, key=frame_id == frame_ids[0], now_us=frame_id * 1000)
    return ltrs


def test_the_newest_acknowledged_counts_and_goes_to_the_encoder_once():
    ltrs = sender(0, 30, 60)
    assert ltrs.acknowledged is None
    assert ltrs.acknowledge(30)
    assert not ltrs.acknowledge(30)
    assert not ltrs.acknowledge(0)
    assert ltrs.acknowledge(60)
    assert ltrs.acknowledged is not None
    assert (ltrs.acknowledged.frame_id, ltrs.acknowledged.sent_us) == (60, 60_000)
    assert ltrs.take_acknowledged() == (30, 60)
    assert ltrs.take_acknowledged() == ()


def test_frames_that_are_no_reference_or_not_yet_sent_say_nothing():
    ltrs = sender(0, 30)
    assert not ltrs.acknowledge(31)
    assert not ltrs.acknowledge(29)
    assert not ltrs.acknowledge_short(60)
    assert ltrs.acknowledged is None


def test_sixteen_bits_name_what_was_sent_across_their_wrap():
    ltrs = sender(65_530, 65_560)
    assert ltrs.holds_short(24)
    assert not ltrs.holds_short(25)
    assert ltrs.acknowledge_short(24)
    assert ltrs.take_acknowledged() == (65_560,)


def test_a_key_frame_ends_what_was_before_it():
    ltrs = sender(0, 30)
    ltrs.acknowledge(30)
    ltrs.sent(45, key=True, now_us=45_000)
    assert ltrs.acknowledged is None
    assert ltrs.take_acknowledged() == ()
    assert not ltrs.acknowledge(30)
    assert ltrs.acknowledge(45)


@given(st.lists(st.integers(0, 0xFFFF), max_size=200))
def test_acknowledgements_of_any_kind_only_move_forward(short_ids):
    ltrs = sender(*range(100_000, 100_300, 10))
    newest = -1
    for short_id in short_ids:
        ltrs.acknowledge_short(short_id)
        if ltrs.acknowledged is not None:
            assert ltrs.acknowledged.frame_id >= newest
            newest = ltrs.acknowledged.frame_id
    told = ltrs.take_acknowledged()
    assert len(told) <= MAX_LTRS
    assert list(told) == sorted(set(told))
