from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.capacity import BURST_STEP_MAX, BURST_US, Capacity
from codecpilot.ratecontrol.bandwidth.codesign_settings import CodesignSettings

START_BPS = 1_000_000
NO_LIMIT = float("inf")


def started() -> Capacity:
    return Capacity(CodesignSettings(), start_bps=START_BPS)


def serve(capacity: Capacity, bps: int, *, seconds: float, size_bytes: int = 1_250) -> None:
    """Packets that queue one behind the other."""
    gap_us = size_bytes * 8_000_000 // bps
    for _ in range(round(seconds * 1e6 / gap_us)):
        capacity.queued(size_bytes, gap_us=gap_us, limit_bps=NO_LIMIT)


def test_it_begins_at_the_start_rate_and_unmeasured() -> None:
    capacity = started()
    assert capacity.bps == capacity.slow_bps == START_BPS
    assert not capacity.is_measured


@pytest.mark.parametrize("bps", [100_000, 700_000, 3_000_000])
def test_queued_packets_show_it_within_a_second(bps: int) -> None:
    capacity = started()
    serve(capacity, bps, seconds=1)
    assert capacity.bps == pytest.approx(bps, rel=0.05)
    assert capacity.is_measured


def test_one_gap_is_not_the_truth() -> None:
    capacity = started()
    capacity.queued(1_250, gap_us=20_000, limit_bps=NO_LIMIT)
    assert 0.8 * START_BPS < capacity.bps < START_BPS
    # An outage is one gap however long.
    paused, longer = started(), started()
    paused.queued(1_250, gap_us=1_000_000, limit_bps=NO_LIMIT)
    longer.queued(1_250, gap_us=60_000_000, limit_bps=NO_LIMIT)
    assert longer.bps == paused.bps > CodesignSettings().min_bps


def test_packets_of_one_instant_are_a_rate_together() -> None:
    capacity = started()
    # Opportunities of 20 ms that carry two packets each, as on a cellular link.
    for _ in range(50):
        capacity.queued(1_250, gap_us=20_000, limit_bps=NO_LIMIT)
        capacity.queued(1_250, gap_us=0, limit_bps=NO_LIMIT)
    assert capacity.bps == pytest.approx(1_000_000, rel=0.08)


def test_what_sizes_cost_follows_a_fall_slowly() -> None:
    capacity = started()
    serve(capacity, 1_000_000, seconds=5)
    serve(capacity, 100_000, seconds=1)
    assert capacity.bps < 130_000
    assert 500_000 < capacity.slow_bps < 900_000
    serve(capacity, 2_000_000, seconds=1)
    assert capacity.slow_bps == capacity.bps


def test_a_burst_that_does_not_queue_raises_it_in_steps() -> None:
    capacity = started()
    capacity.unqueued(1_250, gap_us=5_000, sent_gap_us=5_000, limit_bps=NO_LIMIT)
    first_bps = capacity.bps
    assert START_BPS < first_bps <= (1 + BURST_STEP_MAX) * START_BPS
    for _ in range(100):
        capacity.unqueued(1_250, gap_us=5_000, sent_gap_us=5_000, limit_bps=NO_LIMIT)
    # They were sent, and arrived, at 2 Mbps: it carries that, and they tell no more.
    assert 1_800_000 < capacity.bps <= 2_000_000


def test_packets_that_arrive_closer_than_they_left_show_no_more_than_was_sent() -> None:
    capacity = started()
    for _ in range(100):
        capacity.unqueued(1_250, gap_us=0, sent_gap_us=8_000, limit_bps=NO_LIMIT)
    assert 1_000_000 < capacity.bps <= 1_250_000


@pytest.mark.parametrize("sent_gap_us", [-5, 0, BURST_US, 100_000])
def test_packets_that_are_no_burst_show_nothing(sent_gap_us: int) -> None:
    capacity = started()
    capacity.unqueued(60_000, gap_us=1_000, sent_gap_us=sent_gap_us, limit_bps=NO_LIMIT)
    assert capacity.bps == START_BPS


def test_it_grows_by_a_part_of_itself_each_second() -> None:
    settings, capacity = CodesignSettings(), started()
    serve(capacity, START_BPS, seconds=1)
    before_bps = capacity.bps
    for _ in range(20):
        capacity.grow(50_000, answer_us=100_000, limit_bps=NO_LIMIT)
    assert 0.5 < (capacity.bps - before_bps) / settings.growth_bps_per_s < 1.01
    small = Capacity(settings, start_bps=20_000)
    serve(small, 20_000, seconds=3)
    before_bps = small.bps
    small.grow(1_000_000, answer_us=100_000, limit_bps=NO_LIMIT)
    assert 1.2 < small.bps / before_bps < 1.6


def test_it_grows_fast_until_anything_has_queued_but_no_faster_than_answers_come() -> None:
    grown = []
    for answer_us in (50_000, 500_000):
        capacity = Capacity(CodesignSettings(), start_bps=100_000)
        for _ in range(20):
            capacity.grow(50_000, answer_us=answer_us, limit_bps=NO_LIMIT)
        grown.append(capacity.bps)
    assert 1_000_000 < grown[0] < 3_000_000
    assert 150_000 < grown[1] < 250_000


def test_it_returns_faster_to_what_it_carried_lately_than_beyond() -> None:
    capacity = started()
    serve(capacity, START_BPS, seconds=1)
    capacity.pass_time(50_000, queue_us=0)
    capacity.lower_to(100_000)
    seconds = 0.0
    while capacity.bps < 500_000:
        capacity.pass_time(50_000, queue_us=0)
        capacity.grow(50_000, answer_us=100_000, limit_bps=NO_LIMIT)
        seconds += 0.05
    assert 0.3 < seconds < 1.2


def test_a_return_that_ends_in_a_queue_gives_up_half_of_its_way() -> None:
    ways = []
    for queue_us in (0, 200_000):
        capacity = started()
        serve(capacity, START_BPS, seconds=1)
        capacity.pass_time(50_000, queue_us=0)
        capacity.lower_to(100_000)
        capacity.grow(50_000, answer_us=100_000, limit_bps=NO_LIMIT)
        capacity.pass_time(50_000, queue_us=queue_us)
        capacity.lower_to(330_000)
        capacity.raise_to(400_000)
        # 400 kbps are less than 0.6 of 1 Mbps, and more than 0.6 of what is left of it.
        capacity.grow(50_000, answer_us=100_000, limit_bps=NO_LIMIT)
        ways.append(capacity.bps - 400_000)
    assert ways[0] > 3 * ways[1] > 0


def test_what_was_carried_is_forgotten() -> None:
    capacity = started()
    serve(capacity, START_BPS, seconds=1)
    capacity.pass_time(50_000, queue_us=0)
    serve(capacity, 100_000, seconds=2)
    for _ in range(1_200):
        capacity.pass_time(50_000, queue_us=0)
    capacity.grow(1_000_000, answer_us=100_000, limit_bps=NO_LIMIT)
    assert 100_000 < capacity.bps < 150_000


def test_no_rise_passes_its_limit_and_none_lowers() -> None:
    capacity = started()
    capacity.grow(1_000_000, answer_us=100_000, limit_bps=START_BPS + 1_000)
    assert capacity.bps == START_BPS + 1_000
    capacity.grow(1_000_000, answer_us=100_000, limit_bps=5_000)
    capacity.unqueued(1_250, gap_us=1_000, sent_gap_us=1_000, limit_bps=5_000)
    capacity.raise_to(20_000)
    capacity.queued(1_250, gap_us=0, limit_bps=5_000)
    assert capacity.bps == pytest.approx(START_BPS + 1_000)
    # What was refused is not made up for later.
    for _ in range(20):
        capacity.queued(1_250, gap_us=10_000, limit_bps=NO_LIMIT)
    assert 0.95 * START_BPS < capacity.bps <= START_BPS + 1_001


def test_what_is_raised_or_lowered_is_measured_on_from_there() -> None:
    for change in (Capacity.raise_to, Capacity.lower_to):
        capacity = started()
        serve(capacity, START_BPS, seconds=1)
        changed_bps = 2_000_000 if change is Capacity.raise_to else 400_000
        change(capacity, changed_bps)
        assert capacity.bps == changed_bps
        capacity.queued(1_250, gap_us=10_000_000 // (changed_bps // 1_000), limit_bps=NO_LIMIT)
        assert capacity.bps == pytest.approx(changed_bps, rel=0.05)


def test_it_is_never_below_the_least() -> None:
    settings, capacity = CodesignSettings(), started()
    for _ in range(100):
        capacity.queued(40, gap_us=10_000_000, limit_bps=NO_LIMIT)
    assert capacity.bps == settings.min_bps
    capacity.lower_to(0)
    assert capacity.bps == settings.min_bps


steps = st.one_of(
    st.tuples(st.just("queued"), st.integers(1, 1_500), st.integers(0, 10**9)),
    st.tuples(st.just("unqueued"), st.integers(1, 1_500), st.integers(0, 20_000)),
    st.tuples(st.just("grow"), st.integers(0, 200_000), st.integers(0, 10_000_000)),
    st.tuples(st.just("pass"), st.integers(0, 200_000), st.integers(0, 10**9)),
    st.tuples(st.just("lower"), st.integers(0, 10_000_000), st.just(0)),
)


@given(st.lists(steps, max_size=60))
def test_no_step_passes_its_limit_nor_leaves_the_range(
    taken: list[tuple[str, int, int]],
) -> None:
    capacity, limit_bps = started(), 3_000_000
    for name, a, b in taken:
        before_bps = capacity.bps
        match name:
            case "queued":
                capacity.queued(a, gap_us=b, limit_bps=limit_bps)
            case "unqueued":
                capacity.unqueued(a, gap_us=b, sent_gap_us=b, limit_bps=limit_bps)
            case "grow":
                capacity.grow(a, answer_us=100_000, limit_bps=b)
            case "pass":
                capacity.pass_time(a, queue_us=b)
            case _:
                capacity.lower_to(a)
        assert 10_000 <= capacity.bps <= 10_000_000
        if name in ("pass", "lower"):
            assert capacity.bps <= before_bps
        else:
            most_bps = b if name == "grow" else limit_bps
            assert capacity.bps <= max(before_bps, most_bps)
        if name in ("unqueued", "grow"):
            assert before_bps <= capacity.bps
