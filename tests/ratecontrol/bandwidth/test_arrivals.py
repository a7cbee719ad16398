from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.arrivals import CLOCK_SLACK_US, Arrival, Arrivals
from codecpilot.ratecontrol.bandwidth.codesign_settings import CodesignSettings
from codecpilot.ratecontrol.bandwidth.messages import SentPacket

MBPS = 1_000_000.0
# Longer than a start takes: then only the least delay tells what has queued.
LATER_US = 10_000_000


@dataclass
class Told:
    """Packets of 10 ms at the capacity, told 60 ms after they were sent; 50 ms of that are the path."""

    arrivals: Arrivals = field(default_factory=lambda: Arrivals(CodesignSettings()))
    base_rtt_us: float | None = 60_000
    number: int = 0

    def take(
        self, sent_us: int, delay_us: int, *, size_bytes: int = 1_250, rtt_us: int = 60_000
    ) -> Arrival | None:
        self.number += 1
        return self.arrivals.take(
            SentPacket(number=self.number, sent_us=sent_us, size_bytes=size_bytes),
            arrival_us=sent_us + delay_us,
            capacity_bps=MBPS,
            base_rtt_us=self.base_rtt_us,
            now_us=sent_us + rtt_us,
        )


def later() -> Told:
    told = Told()
    for sent_us in (0, LATER_US):
        told.take(sent_us, 50_000)
    return told


def test_the_first_packet_has_none_to_be_compared_with() -> None:
    told = Told()
    assert told.take(0, 50_000) is None
    assert told.arrivals.queue_us == 0


def test_gaps_are_those_to_the_packet_before() -> None:
    told = later()
    arrival = told.take(LATER_US + 20_000, 57_000)
    assert arrival == Arrival(queue_us=7_000, gap_us=27_000, sent_gap_us=20_000, has_queued=False)
    assert told.arrivals.queue_us == 7_000


def test_a_packet_that_came_to_a_busy_bottleneck_has_queued() -> None:
    told = later()
    for place in (1, 2, 3):
        arrival = told.take(LATER_US + place * 4_000, 50_000 + place * 6_000)
    assert arrival is not None
    assert arrival.has_queued
    assert arrival.gap_us == 10_000


def test_jitter_of_a_millisecond_is_no_queue() -> None:
    told = later()
    arrival = told.take(LATER_US + 1_000, 50_000)
    assert arrival is not None
    told.take(LATER_US + 20_000, 51_000)
    arrival = told.take(LATER_US + 20_500, 51_000)
    assert arrival is not None
    assert not arrival.has_queued


@pytest.mark.parametrize(("size_bytes", "is_queue"), [(1_250, True), (3_000, False)])
def test_at_the_start_a_delay_that_rises_is_a_queue_unless_the_packet_is_larger(
    size_bytes: int, is_queue: bool
) -> None:
    told = Told()
    # The least delay may have a queue in it: that of packets behind each other.
    told.take(0, 150_000)
    arrival = told.take(160_000, 159_000, size_bytes=size_bytes)
    assert arrival is not None
    assert arrival.has_queued == is_queue


def test_later_a_delay_that_rises_is_none() -> None:
    told = later()
    arrival = told.take(LATER_US + 160_000, 59_000)
    assert arrival is not None
    assert not arrival.has_queued


def test_a_packet_that_overtook_another_is_compared_with_none() -> None:
    told = later()
    assert told.take(LATER_US + 5_000, 40_000) is None
    assert told.take(LATER_US + 25_000, 50_000) is not None


@pytest.mark.parametrize("step_us", [100_000, 10_000_000, -10_000_000])
def test_a_clock_that_is_set_is_no_queue(step_us: int) -> None:
    told = later()
    stepped = told.take(LATER_US + 20_000, 50_000 + step_us)
    assert told.arrivals.queue_us == 0
    if step_us > 0:
        # What lies between the two readings of the clock is no time.
        assert stepped is None
    following = told.take(LATER_US + 40_000, 55_000 + step_us)
    assert following is not None
    assert following.queue_us == 5_000
    assert following.gap_us == 25_000


def test_a_queue_as_long_as_the_round_trip_tells_is_one() -> None:
    told = later()
    arrival = told.take(LATER_US + 20_000, 450_000, rtt_us=460_000)
    assert arrival is not None
    assert arrival.queue_us == 400_000


def test_before_a_round_trip_is_known_every_queue_may_be_one() -> None:
    told = Told(base_rtt_us=None)
    told.take(0, 50_000)
    told.take(20_000, 950_000)
    assert told.arrivals.queue_us == 900_000


def test_a_restart_forgets_the_least_delay_and_the_last_packet() -> None:
    told = later()
    told.arrivals.restart()
    assert told.take(LATER_US + 20_000, 90_000, rtt_us=100_000) is None
    assert told.arrivals.queue_us == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 200_000), st.integers(-(2**38), 2**38), st.integers(0, 2_000_000)),
        max_size=60,
    )
)
def test_no_queue_is_longer_than_the_round_trip_leaves_for_it(
    packets: list[tuple[int, int, int]],
) -> None:
    told, sent_us = Told(), 0
    for gap_us, delay_us, rtt_us in packets:
        sent_us += gap_us
        arrival = told.take(sent_us, delay_us, rtt_us=rtt_us)
        longest_us = max(0, rtt_us - 60_000 + CLOCK_SLACK_US)
        assert 0 <= told.arrivals.queue_us <= longest_us
        assert arrival is None or arrival.gap_us >= 0
