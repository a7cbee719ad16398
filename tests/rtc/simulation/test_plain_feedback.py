"""Feedback as libwebrtc gives it: at its intervals, whatever queues or is missing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from codecpilot.rtc.receive_path import ReceivePath
from codecpilot.rtc.rtp.extensions import abs_send_time
from codecpilot.rtc.simulation.plain_feedback import PlainReceivePath

US_PER_S = 1_000_000


def feedback_times(path: ReceivePath, *, kbps: int, seconds: int = 5) -> list[int]:
    """When feedback goes out on packets of 1000 bytes, of which every tenth is missing."""
    gap_us, times, now_us = 8_000_000 // kbps, [], 0
    for number in range(seconds * US_PER_S // gap_us):
        arrival_us = number * gap_us
        while (due_us := path.poll_timeout()) is not None and due_us <= arrival_us:
            now_us = max(now_us, due_us)
            if path.poll_rtcp(now_us=now_us):
                times.append(now_us)
        now_us = arrival_us
        if number % 10:
            # Each waits a little longer than the one before.
            sent = abs_send_time(arrival_us - 20_000 - number * 100)
            path.handle_packet(
                number, size_bytes=1000, arrival_us=now_us, ssrc=1, abs_send_time=sent
            )
    return times


@pytest.mark.parametrize(("kbps", "least_ms", "most_ms"), [(2000, 50, 55), (160, 60, 120)])
def test_intervals_are_a_browsers(kbps, least_ms, most_ms):
    times = feedback_times(PlainReceivePath(ssrc=7), kbps=kbps)
    gaps = [b - a for a, b in pairwise(times)]
    assert all(50_000 <= gap <= 250_000 for gap in gaps)
    assert least_ms * 1000 <= sum(gaps) / len(gaps) <= most_ms * 1000


def test_our_own_feedback_is_sooner_where_something_happens():
    plain = feedback_times(PlainReceivePath(ssrc=7), kbps=2000)
    ours = feedback_times(ReceivePath(ssrc=7), kbps=2000)
    assert len(ours) >= 1.3 * len(plain)


def test_nothing_is_told_before_the_first_packet():
    path = PlainReceivePath(ssrc=7)
    assert path.poll_timeout() is None
    assert path.poll_rtcp(now_us=US_PER_S) == []
