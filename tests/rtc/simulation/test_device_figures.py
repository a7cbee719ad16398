"""Which frames are late, and for how long."""

from __future__ import annotations

import pytest

from codecpilot.rtc.simulation.device_figures import is_late, late_us
from codecpilot.rtc.simulation.records import BUSY, FrameRecord

INTERVAL_US = 33_333


def frame(*, took_us: int | None, skipped: str = "", every: int = 1) -> FrameRecord:
    return FrameRecord(
        direction="a->b",
        index=0,
        capture_us=1_000_000,
        encoded_us=None if took_us is None else 1_000_000 + took_us,
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
    assert is_late(record, interval_us=INTERVAL_US) is late


def test_a_late_picture_stands_for_the_time_until_the_next_one():
    frames = [frame(took_us=50_000), frame(took_us=1), frame(took_us=90_000, every=2)]
    assert late_us(frames, interval_us=INTERVAL_US) == 3 * INTERVAL_US
