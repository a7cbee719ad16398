from __future__ import annotations

import pytest

from codecpilot.rtc.playout.picture_memory import MAX_HELD_BYTES, most_held

from tests.rtc.fakes import picture


@pytest.mark.parametrize(
    ("width", "height", "held"),
    [(640, 360, 30), (1280, 720, 30), (1920, 1080, 20), (8192, 4352, 1)],
)
def test_pictures_of_calls_are_held_and_few_large_ones(width, height, held):
    assert most_held(picture(0, width=width, height=height), at_most=30) == held
    assert held * width * height * 3 // 2 <= MAX_HELD_BYTES


def test_one_may_be_held_whatever_its_size():
    assert most_held(picture(0, width=16384, height=4096), at_most=16) == 1
