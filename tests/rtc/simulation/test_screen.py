"""What the viewer's screen is compared with, moment by moment."""

from __future__ import annotations

import numpy as np
import pytest

from codecpilot.codecs.metrics import MAX_PSNR_DB
from codecpilot.codecs.types import Picture
from codecpilot.rtc.simulation.screen import Screen

FRAME_US = 40_000


def gray(level: int, *, width: int = 32, height: int = 16) -> Picture:
    chroma = np.full((height // 2, width // 2), 128, np.uint8)
    return Picture(y=np.full((height, width), level, np.uint8), u=chroma, v=chroma)


def play(delays_us: dict[int, int | None], *, count: int, frame_us: int = FRAME_US) -> Screen:
    """Capture `count` pictures; each is shown after its delay (100 ms if not given; None: never)."""
    screen = Screen(frame_us=frame_us)
    events = []
    for index in range(count):
        capture_us = index * frame_us
        events.append((capture_us, 0, index))
        delay_us = delays_us.get(index, 100_000)
        if delay_us is not None:
            events.append((capture_us + delay_us, 1, index))
    for now_us, is_shown, index in sorted(events):
        if is_shown:
            screen.shown(gray(index), index=index, capture_us=index * frame_us, now_us=now_us)
        else:
            screen.captured(gray(index), index=index, now_us=now_us)
    screen.finish(count * frame_us + 1_000_000)
    return screen


def test_an_even_delay_shows_every_picture_when_it_is_due():
    screen = play({}, count=50)
    assert screen.on_screen == {i: i for i in range(50)}
    assert set(screen.scores_db.values()) == {MAX_PSNR_DB}
    assert set(screen.latencies_us) == {100_000}


def test_a_picture_that_was_never_shown_leaves_the_one_before_on_the_screen():
    screen = play({20: None, 21: None}, count=40)
    assert [screen.on_screen[i] for i in range(18, 24)] == [18, 19, 19, 19, 22, 23]
    # One and two levels of gray apart: 20 log10(255 / n).
    assert screen.scores_db[20] == pytest.approx(48.13, abs=0.01)
    assert screen.scores_db[21] == pytest.approx(42.11, abs=0.01)


@pytest.mark.parametrize(("late_us", "seen"), [(19_000, 20), (21_000, 19)])
def test_half_a_frame_late_is_in_time(late_us, seen):
    assert play({20: 100_000 + late_us}, count=40).on_screen[20] == seen


def test_a_freeze_is_compared_with_the_scene_that_went_on():
    screen = play(dict.fromkeys(range(30, 60)), count=80)
    assert [screen.on_screen[i] for i in (29, 30, 45, 59, 60)] == [29, 29, 29, 29, 60]
    assert screen.freezes.count == 1
    assert screen.freezes.total_us == 31 * FRAME_US


def test_a_delay_that_stays_becomes_the_calls_own():
    # From picture 40 on everything is half a second later: first wrong, then what is due.
    screen = play(dict.fromkeys(range(40, 160), 500000), count=160)
    assert screen.on_screen[45] < 45
    assert [screen.on_screen[i] for i in range(120, 150)] == list(range(120, 150))


def test_what_was_due_before_the_first_picture_was_shown_is_not_counted():
    screen = play(dict.fromkeys(range(10)), count=30)
    assert min(screen.on_screen) >= 9
    assert min(screen.on_screen.values()) == 10


def test_a_picture_of_another_size_is_scaled_before_it_is_compared():
    screen = Screen(frame_us=FRAME_US)
    screen.captured(gray(50), index=0, now_us=0)
    screen.shown(gray(50, width=16, height=8), index=0, capture_us=0, now_us=1000)
    screen.finish(1_000_000)
    assert screen.scores_db == {0: MAX_PSNR_DB}


def test_pairs_are_given_as_they_are_compared():
    pairs = []
    screen = Screen(frame_us=FRAME_US, on_pair=lambda wanted, shown: pairs.append((wanted, shown)))
    for index in range(3):
        screen.captured(gray(index), index=index, now_us=index * FRAME_US)
        if index != 1:
            screen.shown(
                gray(index), index=index, capture_us=index * FRAME_US, now_us=index * FRAME_US + 10
            )
    screen.finish(1_000_000)
    assert [(int(a.y[0, 0]), int(b.y[0, 0])) for a, b in pairs] == [(0, 0), (1, 0), (2, 2)]
