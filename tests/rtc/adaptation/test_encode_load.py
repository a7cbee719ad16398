from __future__ import annotations

import pytest

from codecpilot.rtc.adaptation.encode_load import EncodeLoad

INTERVAL_US = 40_000


def load(*ratios: float, is_anchor: bool = False) -> EncodeLoad:
    encode_load = EncodeLoad()
    for ratio in ratios:
        frame(encode_load, ratio, is_anchor=is_anchor)
    return encode_load


def frame(encode_load: EncodeLoad, ratio: float, *, is_anchor: bool = False) -> None:
    encode_load.frame(round(ratio * INTERVAL_US), interval_us=INTERVAL_US, is_anchor=is_anchor)


def test_three_long_frames_in_a_row_are_too_much_and_two_are_not():
    assert load(0.9, 1.0).overload_ratio is None
    assert load(0.9, 1.0, 1.1).overload_ratio == pytest.approx(1.0)
    assert load(0.9, 1.0, 0.5, 1.1, 1.2).overload_ratio is None
    assert load(*[0.84] * 20).overload_ratio is None


def test_key_frames_are_discounted_and_neither_hide_a_load_nor_make_one():
    assert load(*[2.9] * 5, is_anchor=True).overload_ratio is None
    hidden = load(1.0, 1.0)
    frame(hidden, 1.0, is_anchor=True)
    frame(hidden, 1.0)
    assert hidden.overload_ratio == pytest.approx(1.0)
    assert load(*[4.0] * 5, is_anchor=True).overload_ratio is None
    assert load(*[4.0] * 6, is_anchor=True).overload_ratio == pytest.approx(4 / 3.5)


def test_two_frames_that_take_very_long_are_enough_and_one_is_not():
    assert load(9.0).overload_ratio is None
    assert load(3.0, 4.0).overload_ratio == pytest.approx(3.5)
    assert load(3.0, 0.5, 4.0).overload_ratio is None


def test_what_is_usual_is_what_ordinary_frames_take_in_their_time():
    usual = load(*[0.6] * 50)
    for ratio in (4.0, 0.9, 0.9):
        frame(usual, ratio)
    frame(usual, 2.0, is_anchor=True)
    assert usual.usual_ratio == pytest.approx(0.6)
    for _ in range(60):
        frame(usual, 0.3)
    assert usual.usual_ratio == pytest.approx(0.34, abs=0.02)


def test_another_operation_begins_anew():
    encode_load = load(*[1.5] * 3)
    encode_load.begin()
    assert encode_load.overload_ratio is None
    frame(encode_load, 1.5)
    assert encode_load.overload_ratio is None
