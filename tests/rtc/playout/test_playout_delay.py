from __future__ import annotations

import random

import pytest

from codecpilot.rtc.playout.playout_delay import FALL_US_PER_S, MAX_DELAY_US, PlayoutDelay

FRAME_US = 33_333
CLOCKS_APART_US = 7_000_000_000


def played(delay: PlayoutDelay, late_us: list[int], *, start: int = 0) -> list[int]:
    """Times between capture and showing, the constant part of the way taken off."""
    shown = []
    now_us = 0
    for i, late in enumerate(late_us):
        captured_us = (start + i) * FRAME_US
        # Frames become ready in order: behind a late one others wait.
        now_us = max(now_us, captured_us + CLOCKS_APART_US + late)
        delay.arrived(captured_us=captured_us, now_us=now_us)
        shown.append(max(now_us, delay.due_us(captured_us)) - captured_us)
    return [s - CLOCKS_APART_US for s in shown]


def test_an_even_path_adds_no_delay():
    assert set(played(PlayoutDelay(), [4_000] * 200)) == {4_000}


def test_jitter_is_evened_out_for_most_frames():
    rng = random.Random(3)
    delay = PlayoutDelay()
    shown = played(delay, [rng.randint(0, 20_000) for _ in range(1200)])[600:]
    even = [s for s in shown if abs(s - delay.delay_us) < 3_000]
    assert len(even) >= 0.75 * len(shown)
    assert 12_000 <= delay.delay_us <= 20_000


def test_rare_late_frames_are_shown_late_and_do_not_delay_the_rest():
    delay = PlayoutDelay()
    late = [0] * 600
    late[50::100] = [120_000] * 6
    shown = played(delay, late)
    assert delay.delay_us == 0
    # Three frames each catch up behind a late one.
    late_and_behind = [120_000, 120_000 - FRAME_US, 120_000 - 2 * FRAME_US, 120_000 - 3 * FRAME_US]
    assert [s for s in shown if s] == late_and_behind * 6


@pytest.mark.parametrize("stall_us", [300_000, 3_000_000])
def test_a_stall_leaves_the_delay_as_it_was(stall_us):
    delay = PlayoutDelay()
    played(delay, [0] * 100 + [stall_us] + [0] * 200)
    assert delay.delay_us == 0


def test_a_queue_that_grows_slowly_adds_nothing_on_top():
    delay = PlayoutDelay()
    growing = [i * 1_000 for i in range(250)]
    assert played(delay, growing) == growing


def test_the_delay_rises_soon_and_falls_slowly():
    delay = PlayoutDelay()
    played(delay, [0, 30_000] * 20)
    assert delay.delay_us == pytest.approx(30_000, abs=1_000)
    played(delay, [0] * 275, start=40)
    high = delay.delay_us
    played(delay, [0] * 6, start=315)
    assert delay.delay_us > 0
    assert high - delay.delay_us == pytest.approx(FALL_US_PER_S * 0.2, rel=0.05)


@pytest.mark.parametrize("ppm", [-200, 200])
def test_clocks_that_drift_apart_are_followed(ppm):
    delay = PlayoutDelay()
    late = [i * FRAME_US * ppm // 1_000_000 for i in range(9000)]
    shown = played(delay, late)
    # Five minutes at 200 ppm are 60 ms; the base lags by its window at most.
    assert all(late[i] - 100 <= s <= late[i] + 5_000 for i, s in enumerate(shown))


def test_sound_may_hold_pictures_back_within_the_limit():
    delay = PlayoutDelay()
    delay.set_minimum(50_000)
    assert played(delay, [0] * 10)[-1] == 50_000
    delay.set_minimum(10 * MAX_DELAY_US)
    assert played(delay, [0] * 10, start=10)[-1] == MAX_DELAY_US
    delay.set_minimum(-5)
    assert delay.delay_us == 0
