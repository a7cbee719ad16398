"""The link against closed-form values and against packet-by-packet recounts."""

from __future__ import annotations

import itertools
import random
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.rtc.simulation.link import Delivered, Link, LinkSettings, LossReason, Lost
from codecpilot.rtc.simulation.loss import loss_process
from codecpilot.rtc.simulation.rate import Rate, parse_rate
from codecpilot.rtc.simulation.steps import Steps
from codecpilot.rtc.simulation.trace import TraceRate, parse_trace


def link(
    rate: Rate | str = "1000", *, loss: float = 0, burst: float = 1, seed: int = 1, **settings
) -> Link:
    rng = random.Random(seed)
    return Link(
        rate=parse_rate(rate) if isinstance(rate, str) else rate,
        loss=loss_process(Steps.constant(loss), burst=burst, rng=rng),
        settings=LinkSettings(**settings),
        rng=rng,
    )


offers = st.lists(st.tuples(st.integers(0, 50_000), st.integers(1, 1500)), min_size=1, max_size=60)


def arrivals(path: Link, packets: list[tuple[int, int]]) -> list[tuple[int, int, Delivered | Lost]]:
    """Time, size and fate of packets given as gap and size."""
    now_us, out = 0, []
    for gap_us, size in packets:
        now_us += gap_us
        out.append((now_us, size, path.offer(size, now_us=now_us)))
    return out


@pytest.mark.parametrize(
    ("rate", "end_us", "expected_us"),
    [
        ("0:1000,1:0,3:1000,4:0,4.1:1000", 5_000_000, 2_000_000),
        ("0:0,1:1000", 5_000_000, 1_000_000),
        (TraceRate([0, 10, 500, 520, 700, 1000]), 1_000_000, 790_000),
    ],
)
def test_outages_are_those_of_some_length(rate, end_us, expected_us):
    path = link(rate)
    assert expected_us - 20_000 <= path.outage_us(0, end_us, least_us=200_000) <= expected_us
    assert path.outage_us(0, end_us, least_us=end_us) == 0


def test_a_packet_takes_its_bits_at_the_rate_and_the_delay():
    # 1250 bytes at 1 Mbit/s: 10 ms.
    path = link("1000", delay_us=25_000)
    assert path.offer(1250, now_us=500) == Delivered(arrival_us=35_500, queue_us=0)
    assert path.offer(1250, now_us=500) == Delivered(arrival_us=45_500, queue_us=10_000)
    assert path.offer(125, now_us=20_499) == Delivered(arrival_us=46_500, queue_us=1)
    assert path.offer(125, now_us=60_000) == Delivered(arrival_us=86_000, queue_us=0)


@given(offers, st.integers(1, 5000))
def test_a_constant_rate_serves_as_lindleys_recursion_says(packets, kbps):
    free_us = 0.0
    for now_us, size, fate in arrivals(link(str(kbps), delay_us=7_000), packets):
        start_us = max(free_us, now_us)
        free_us = start_us + size * 8_000 / kbps
        assert isinstance(fate, Delivered)
        assert free_us - 0.01 <= fate.arrival_us - 7_000 <= free_us + 1.01
        assert start_us - now_us - 1.01 <= fate.queue_us <= start_us - now_us + 0.01


def test_a_packet_is_served_across_a_change_of_rate():
    # 500 of 1250 bytes go at 400 kbit/s in the 10 ms before the step, the rest at 1 Mbit/s in 6 ms.
    path = link("0:400,1:1000")
    assert path.offer(1250, now_us=990_000) == Delivered(arrival_us=1_006_000, queue_us=0)


def test_an_outage_of_seconds_holds_what_waits_and_then_serves_it():
    path = link("0:1000,1:0,4:1000", queue_bytes=3000)
    assert path.offer(1250, now_us=999_000).arrival_us == 4_009_000
    assert path.offer(1250, now_us=2_000_000) == Delivered(arrival_us=4_019_000, queue_us=2_009_000)
    assert path.offer(1250, now_us=3_000_000) == Lost(LossReason.QUEUE)
    assert path.offer(1250, now_us=5_000_000) == Delivered(arrival_us=5_010_000, queue_us=0)


def test_a_queue_in_time_takes_one_packet_in_an_outage():
    path = link("0:1000,1:0,4:1000", queue_us=300_000)
    assert path.offer(125, now_us=1_500_000).arrival_us == 4_001_000
    assert path.offer(125, now_us=3_600_000) == Lost(LossReason.QUEUE)
    assert path.offer(125, now_us=3_701_000).arrival_us == 4_002_000


@given(offers, st.integers(0, 200_000))
def test_a_queue_in_time_bounds_the_wait_and_drops_only_beyond_it(packets, queue_us):
    path = link("300", queue_us=queue_us)
    free_us = 0.0
    for now_us, size, fate in arrivals(path, packets):
        wait_us = max(0.0, free_us - now_us)
        if isinstance(fate, Lost):
            assert wait_us > queue_us - 0.01
        else:
            assert wait_us <= queue_us + 0.01
            free_us = max(free_us, now_us) + size * 8_000 / 300
    counters = path.counters
    lost = counters.dropped[LossReason.QUEUE]
    assert counters.delivered_packets + lost == counters.offered_packets == len(packets)
    assert max(counters.queue_delays_us, default=0) <= queue_us


@given(offers, st.integers(1500, 9000))
def test_a_queue_in_bytes_holds_no_more_and_drops_only_what_does_not_fit(packets, queue_bytes):
    path = link("300", queue_bytes=queue_bytes)
    free_us = 0.0
    for now_us, size, fate in arrivals(path, packets):
        waiting = max(0.0, free_us - now_us) * 300 / 8_000
        fits = waiting == 0 or waiting + size <= queue_bytes
        near = abs(waiting + size - queue_bytes) < 0.01
        assert isinstance(fate, Delivered) == fits or near
        if isinstance(fate, Delivered):
            free_us = max(free_us, now_us) + size * 8_000 / 300


class Mahimahi:
    """An event by event recount of a trace: a queue, and opportunities that serve its head."""

    def __init__(self, opportunities_ms: list[int], packets: list[tuple[int, int, object]]) -> None:
        waiting = deque((now, size) for now, size, _ in packets)
        self.served_us: list[int] = []
        passes, left = 0, waiting[0][1]
        while waiting:
            for ms in opportunities_ms:
                time_us, room = (passes + ms) * 1000, 1500
                while waiting and waiting[0][0] < time_us and room:
                    took = min(room, left)
                    left, room = left - took, room - took
                    if not left:
                        self.served_us.append(time_us)
                        waiting.popleft()
                        left = waiting[0][1] if waiting else 0
            passes += opportunities_ms[-1]


traces = st.lists(st.integers(0, 300), min_size=1, max_size=40).map(sorted).filter(lambda t: t[-1])


@given(traces, offers)
def test_a_trace_serves_as_an_event_by_event_recount_does(opportunities, packets):
    fates = arrivals(link(TraceRate(opportunities)), packets)
    assert [fate.arrival_us for *_, fate in fates] == Mahimahi(opportunities, fates).served_us


@given(traces, offers)
def test_the_wait_in_a_trace_ends_where_the_first_byte_goes(opportunities, packets):
    free_bytes = 0
    rate = TraceRate(opportunities)
    for now_us, size, fate in arrivals(link(rate), packets):
        start = max(free_bytes, rate.offered(now_us))
        free_bytes = start + size
        first_byte_us = rate.ends_us(start + 1)
        assert fate.queue_us == first_byte_us - now_us > 0


@pytest.mark.parametrize(
    "name",
    [
        "ATT-LTE-driving-2016.down",
        "TMobile-UMTS-driving.down",
        "Verizon-EVDO-driving.down",
        "Verizon-LTE-short.up",
    ],
)
def test_a_saturated_link_carries_what_the_trace_file_offers(shared: Path, name: str):
    text = (shared / "traces" / name).read_text()
    opportunities = [int(line) for line in text.split()]
    path = link(parse_trace(text), queue_bytes=1_000_000)
    end_ms = min(20_000, opportunities[-1])
    for now_us in [0] * 660 + list(range(0, end_ms * 1000, 500)):
        path.offer(1500, now_us=now_us)
    offered = 1500 * sum(0 < ms <= end_ms for ms in opportunities)
    assert path.capacity_bytes(0, end_ms * 1000) == offered
    # All but what still waits was served by then.
    assert offered <= path.counters.served_bytes <= offered + 1_000_000


def test_a_real_outage_of_seconds_delivers_its_first_packet_after_it(shared: Path):
    text = (shared / "traces" / "Verizon-EVDO-driving.down").read_text()
    opportunities = [int(line) for line in text.split()]
    gaps = [(b - a, a, b) for a, b in itertools.pairwise(opportunities)]
    length_ms, begin_ms, end_ms = max(gaps)
    path = link(parse_trace(text), delay_us=30_000)
    assert length_ms > 1000
    fate = path.offer(1500, now_us=begin_ms * 1000 + 1)
    assert fate.arrival_us == end_ms * 1000 + 30_000


@given(offers, st.integers(1, 100_000))
def test_jitter_adds_up_to_its_bound_and_keeps_the_order(packets, jitter_us):
    plain = arrivals(link("5000", delay_us=1000), packets)
    shaken = arrivals(link("5000", delay_us=1000, jitter_us=jitter_us), packets)
    times = [fate.arrival_us for *_, fate in shaken]
    assert times == sorted(times)
    for (*_, even), (*_, late) in zip(plain, shaken, strict=True):
        assert even.arrival_us <= late.arrival_us <= even.arrival_us + jitter_us


def test_jitter_is_evenly_distributed():
    path = link("100000", jitter_us=10_000)
    extra = [path.offer(125, now_us=t).arrival_us - t - 10 for t in range(0, 10**8, 20_000)]
    assert 4_850 <= sum(extra) / len(extra) <= 5_150
    assert 0 <= min(extra) <= 20
    assert 9_980 <= max(extra) <= 10_000


def test_reordered_packets_are_overtaken_at_the_share_asked_for():
    path = link("100000", reorder_ratio=0.1, reorder_us=5_000)
    times = [path.offer(125, now_us=t).arrival_us for t in range(0, 10_000_000, 1000)]
    held = [t for i, t in enumerate(times) if t - i * 1000 == 5_010]
    assert 900 <= len(held) <= 1100
    overtaken = sum(b < a for a, b in itertools.pairwise(times))
    assert 0.85 * len(held) <= overtaken <= len(held)


def test_what_is_lost_on_the_way_has_used_the_link():
    path = link("1000", loss=0.25)
    fates = [path.offer(1250, now_us=t * 10_000) for t in range(10_000)]
    counters = path.counters
    assert 0.23 <= counters.dropped[LossReason.LOSS] / 10_000 <= 0.27
    assert counters.dropped[LossReason.LOSS] == fates.count(Lost(LossReason.LOSS))
    assert counters.served_bytes == counters.offered_bytes == 12_500_000
    assert path.capacity_bytes(0, 100_000_000) == 12_500_000
    assert counters.delivered_bytes == 1250 * counters.delivered_packets
    assert set(counters.queue_delays_us) == {0}


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"delay_us": -1}, "delay_us -1 is below 0"),
        ({"jitter_us": -1}, "jitter_us -1 is below 0"),
        ({"queue_us": -1}, "queue_us -1 is below 0"),
        ({"reorder_ratio": 1.5}, r"reorder_ratio 1\.5 is outside 0\.\.1"),
        ({"queue_bytes": 1499}, "queue_bytes 1499 is below one packet of 1500"),
    ],
)
def test_impossible_settings_are_refused(settings, names):
    with pytest.raises(LocalError, match=names):
        LinkSettings(**settings)


def test_time_that_runs_backwards_and_empty_packets_are_refused():
    path = link()
    path.offer(1, now_us=10)
    with pytest.raises(LocalError, match="not below 10 us"):
        path.offer(1, now_us=9)
    with pytest.raises(LocalError, match="sizes are above 0"):
        path.offer(0, now_us=10)
