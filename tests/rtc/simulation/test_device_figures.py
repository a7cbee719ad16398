"""Which frames are late, and for how long."""

from __future__ import annotations

import pytest

from codecpilot.rtc.simulation.device_figures import late_frames, late_us
from codecpilot.rtc.simulation.records import BUSY, FrameRecord

INTERVAL_US = 33_333


def frame(
    *,
    took_us: int | None,
    skipped: str = "",
    every: int = 1,
    at_us: int = 1_000_000,
    held_us: int = 0,
) -> FrameRecord:
    """Encoding began held_us after the capture at at_us."""
    begun_us = at_us + held_us
    return FrameRecord(
        direction="a->b",
        index=0,
        capture_us=at_us,
        encode_us=None if took_us is None else begun_us,
        encoded_us=None if took_us is None else begun_us + took_us,
        skipped=skipped,
        every=every,
    )


@pytest.mark.parametrize(
    ("record", "late"),
    [
        (frame(took_us=33_333), False),
        (frame(took_us=33_334), True),
        # Where every second picture is sent, there is twice the time.
        (frame(took_us=60_000, every=2), False),
        (frame(took_us=70_000, every=2), True),
        # What was encoded in vain took its time, too.
        (frame(took_us=40_000, skipped="backlog"), True),
        (frame(took_us=None, skipped=BUSY), True),
        (frame(took_us=None, skipped="pacer full"), False),
        (frame(took_us=None, skipped="frame rate"), False),
        (frame(took_us=None, skipped="the end"), False),
    ],
)
def test_late_is_what_leaves_the_encoder_after_the_next_picture_came(record, late):
    assert late_frames([record], interval_us=INTERVAL_US) == [record] * late


def test_a_late_picture_stands_for_the_time_until_the_next_one():
    frames = [
        frame(took_us=50_000),
        frame(took_us=1, at_us=2_000_000),
        frame(took_us=90_000, at_us=3_000_000, every=2),
    ]
    assert late_us(frames, interval_us=INTERVAL_US) == 3 * INTERVAL_US


def test_waiting_for_the_encoder_counts_and_waiting_for_the_pacer_does_not():
    first = frame(took_us=40_000)
    behind_it = frame(took_us=10_000, at_us=1_010_000, held_us=30_000)
    held_back = frame(took_us=10_000, at_us=2_000_000, held_us=30_000)
    late = late_frames([first, behind_it, held_back], interval_us=INTERVAL_US)
    assert late == [first, behind_it]
