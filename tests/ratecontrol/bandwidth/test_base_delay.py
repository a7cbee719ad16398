from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.base_delay import BUCKET_US, BaseDelay

MBPS = 1_000_000.0


def waited_us(base: BaseDelay, delay_us: int, *, size_bytes: int = 1_000) -> float:
    return base.queue_us(delay_us, size_bytes=size_bytes, capacity_bps=MBPS)


def test_before_the_first_packet_nothing_waits() -> None:
    base = BaseDelay(window_us=10_000_000)
    assert base.least_us is None
    assert waited_us(base, 70_000) == 0


def test_a_packet_waited_for_what_is_above_the_least_delay() -> None:
    base = BaseDelay(window_us=10_000_000)
    for delay_us in (80_000, 50_000, 65_000):
        base.add(delay_us, size_bytes=1_000, now_us=0)
    assert base.least_us == 50_000
    assert waited_us(base, 65_000) == 15_000
    assert waited_us(base, 40_000) == 0


def test_clocks_may_differ_by_any_offset() -> None:
    base = BaseDelay(window_us=10_000_000)
    base.add(-(10**12), size_bytes=1_000, now_us=0)
    assert waited_us(base, -(10**12) + 3_000) == 3_000


def test_what_a_larger_packet_takes_longer_is_no_wait() -> None:
    base = BaseDelay(window_us=10_000_000)
    base.add(50_000, size_bytes=250, now_us=0)
    # 1000 bytes more are 8 ms at 1 Mbps; a smaller packet gains nothing.
    assert waited_us(base, 60_000, size_bytes=1_250) == 2_000
    assert waited_us(base, 60_000, size_bytes=100) == 10_000


def test_of_equal_delays_the_smaller_packet_is_remembered() -> None:
    base = BaseDelay(window_us=10_000_000)
    for size_bytes in (1_250, 250, 1_250):
        base.add(50_000, size_bytes=size_bytes, now_us=0)
    assert waited_us(base, 60_000, size_bytes=1_250) == 2_000


def test_the_least_delay_is_forgotten_after_the_window() -> None:
    base = BaseDelay(window_us=1_000_000)
    base.add(50_000, size_bytes=1_000, now_us=0)
    for now_us in range(BUCKET_US, 3_000_000, BUCKET_US):
        base.add(60_000, size_bytes=1_000, now_us=now_us)
        assert base.least_us == (50_000 if now_us <= 1_000_000 else 60_000)


def test_a_restart_forgets_at_once() -> None:
    base = BaseDelay(window_us=1_000_000)
    base.add(50_000, size_bytes=1_000, now_us=0)
    base.restart()
    assert base.least_us is None
    base.add(90_000, size_bytes=1_000, now_us=1)
    assert base.least_us == 90_000


@given(
    st.lists(
        st.tuples(st.integers(0, 900_000), st.integers(-(10**9), 10**9), st.integers(1, 1_500)),
        min_size=1,
        max_size=60,
    )
)
def test_the_least_is_that_of_the_window_give_or_take_a_bucket(
    packets: list[tuple[int, int, int]],
) -> None:
    base, now_us, seen = BaseDelay(window_us=2_000_000), 0, []
    for gap_us, delay_us, size_bytes in packets:
        now_us += gap_us
        seen.append((now_us, delay_us))
        base.add(delay_us, size_bytes=size_bytes, now_us=now_us)
        certain = min(d for t, d in seen if t >= now_us - 2_000_000 + BUCKET_US)
        possible = min(d for t, d in seen if t >= now_us - 2_000_000 - BUCKET_US)
        assert base.least_us is not None
        assert possible <= base.least_us <= certain
        assert waited_us(base, delay_us, size_bytes=size_bytes) >= 0
