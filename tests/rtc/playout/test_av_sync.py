"""Pictures that wait for their sound, in virtual time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.playout.av_sync import (
    FOLLOW_US_PER_S,
    LEAD_US,
    MAX_APART_US,
    MAX_HOLD_US,
    MAX_PAUSE_US,
    AvSync,
)

PACKET_US = 20_000
MS = 1000
# The sender's wall clock and the receiver's own share no zero.
CLOCKS_APART_US = 3_900_000_000_000_000
PICTURE_US = 15 * MS


class Stream:
    """A stream's sound and pictures at the receiver; time goes on from call to call."""

    def __init__(self) -> None:
        self.sync = AvSync()
        self.now_us = 5_000_000
        self.holds: list[int] = []

    def play(self, seconds: float, *, sound_us: int | None) -> int:
        """Sound that comes sound_us after capture, pictures PICTURE_US; the hold at the end."""
        end_us = self.now_us + int(seconds * 1e6)
        while self.now_us < end_us:
            self.now_us += PACKET_US
            captured_us = self.now_us + CLOCKS_APART_US
            if sound_us is not None:
                self.sync.handle_sound(
                    captured_us=captured_us - sound_us, length_us=PACKET_US, now_us=self.now_us
                )
            self.holds.append(
                self.sync.hold_us(
                    captured_us=captured_us - PICTURE_US,
                    earliest_us=self.now_us,
                    now_us=self.now_us,
                )
            )
        return self.holds[-1]


def test_pictures_are_held_until_they_lead_by_what_is_not_noticed() -> None:
    hold_us = Stream().play(5, sound_us=100 * MS)
    assert PICTURE_US + hold_us - 100 * MS == -LEAD_US
    assert LEAD_US < 125 * MS


@pytest.mark.parametrize("sound_us", [0, PICTURE_US, PICTURE_US + LEAD_US])
def test_pictures_wait_for_no_sound_that_is_not_late(sound_us: int) -> None:
    assert Stream().play(5, sound_us=sound_us) == 0


def test_without_sound_nothing_is_held() -> None:
    stream = Stream()
    assert stream.play(2, sound_us=None) == 0
    assert set(stream.holds) == {0}


@pytest.mark.parametrize(
    ("sound_us", "hold_us"), [(400 * MS, MAX_HOLD_US), (PICTURE_US + MAX_APART_US + 1, 0)]
)
def test_sound_far_behind_is_not_waited_for_longer_than_a_call_bears(
    sound_us: int, hold_us: int
) -> None:
    assert Stream().play(5, sound_us=sound_us) == hold_us


def test_the_hold_follows_slowly_up_and_down() -> None:
    stream = Stream()
    low = stream.play(4, sound_us=70 * MS)
    high = stream.play(4, sound_us=110 * MS)
    again = stream.play(4, sound_us=70 * MS)
    assert (low, high, again) == (15 * MS, 55 * MS, 15 * MS)
    steps = [abs(b - a) for a, b in zip(stream.holds, stream.holds[1:], strict=False)]
    assert 0 < max(steps) <= FOLLOW_US_PER_S * PACKET_US // 1_000_000


def test_a_single_late_packet_changes_nothing() -> None:
    stream = Stream()
    held_us = stream.play(4, sound_us=100 * MS)
    stream.play(0.02, sound_us=300 * MS)
    assert stream.play(0.5, sound_us=100 * MS) == held_us


def test_a_hold_ends_slowly_after_the_sound_does_and_starts_anew() -> None:
    stream = Stream()
    held_us = stream.play(4, sound_us=100 * MS)
    assert stream.play(MAX_PAUSE_US / 1e6 - 0.1, sound_us=None) == held_us
    assert 0 < stream.play(0.4, sound_us=None) < held_us
    assert stream.play(3, sound_us=None) == 0
    assert stream.play(4, sound_us=70 * MS) == 15 * MS


@given(st.lists(st.tuples(st.integers(0, 3 * MAX_APART_US), st.integers(1, 50))))
def test_a_hold_stays_within_its_bounds_whatever_comes(stretches: list[tuple[int, int]]) -> None:
    stream = Stream()
    for sound_us, packets in stretches:
        stream.play(packets * 0.02, sound_us=sound_us)
    assert all(0 <= hold_us <= MAX_HOLD_US for hold_us in stream.holds)
