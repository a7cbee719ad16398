"""The sound device in time: what is heard when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.playout.audio_clock import MAX_BACKLOG_US, AudioClock

PACKET_US = 20_000


def test_an_even_stream_is_heard_with_even_latency() -> None:
    clock = AudioClock()
    for number in range(20):
        capture_us = number * PACKET_US
        clock.arrived(capture_us + 90_000, capture_us=capture_us, length_us=PACKET_US)
        assert clock.latency_us(capture_us + 90_000) == 90_000
        assert clock.latency_us(capture_us + 109_999) == 90_000


def test_a_packet_that_comes_early_waits_for_the_one_before_it() -> None:
    clock = AudioClock()
    clock.arrived(100_000, capture_us=0, length_us=PACKET_US)
    clock.arrived(105_000, capture_us=PACKET_US, length_us=PACKET_US)
    assert clock.latency_us(119_999) == 100_000
    assert clock.latency_us(120_000) == 100_000


def test_nothing_is_heard_before_the_first_and_after_the_last_packet() -> None:
    clock = AudioClock()
    assert clock.latency_us(0) is None
    clock.arrived(100_000, capture_us=0, length_us=PACKET_US)
    assert clock.latency_us(120_000) is None


@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=60))
def test_a_burst_never_makes_the_sound_later_than_the_backlog_allows(gaps_us: list[int]) -> None:
    clock, now_us, slowest_us = AudioClock(), 1_000_000, 0
    for number, gap_us in enumerate(gaps_us):
        now_us += gap_us
        capture_us = number * PACKET_US
        slowest_us = max(slowest_us, now_us - capture_us)
        clock.arrived(now_us, capture_us=capture_us, length_us=PACKET_US)
        for later_us in range(0, 100_000, 9_000):
            heard_us = clock.latency_us(now_us + later_us)
            assert heard_us is None or 0 <= heard_us <= slowest_us + MAX_BACKLOG_US
