from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.delivered import WINDOW_US, DeliveredRate


def test_nothing_is_delivered_before_the_first_packet() -> None:
    assert DeliveredRate().bps(1_000_000) == 0


def test_an_even_flow_is_measured_as_it_is() -> None:
    delivered = DeliveredRate()
    for now_us in range(0, 2_000_000, 10_000):
        delivered.add(1_250, sent_us=now_us - 50_000, now_us=now_us)
    assert delivered.bps(1_990_000) == pytest.approx(1_000_000, rel=0.03)


def test_the_first_packet_is_no_high_rate() -> None:
    delivered = DeliveredRate()
    delivered.add(1_250, sent_us=0, now_us=1)
    assert 0 < delivered.bps(1) <= 1_250 * 8e6 / (WINDOW_US // 4)


def test_a_start_is_measured_from_its_first_packet_on() -> None:
    delivered = DeliveredRate()
    for now_us in range(50_000, 250_000, 10_000):
        delivered.add(1_250, sent_us=now_us - 50_000, now_us=now_us)
    assert delivered.bps(250_000) == pytest.approx(800_000, rel=0.05)


def test_what_is_older_than_the_window_counts_no_more() -> None:
    delivered = DeliveredRate()
    delivered.add(1_250, sent_us=0, now_us=0)
    assert delivered.bps(WINDOW_US - 1) > 0
    assert delivered.bps(WINDOW_US) == 0


@given(st.lists(st.tuples(st.integers(0, 300_000), st.integers(1, 1_500)), max_size=80))
def test_it_is_never_more_than_what_was_told(packets: list[tuple[int, int]]) -> None:
    delivered, now_us, total_bytes = DeliveredRate(), 0, 0
    for gap_us, size_bytes in packets:
        now_us += gap_us
        total_bytes += size_bytes
        delivered.add(size_bytes, sent_us=now_us, now_us=now_us)
        assert 0 < delivered.bps(now_us) <= total_bytes * 8e6 / (WINDOW_US // 4)
