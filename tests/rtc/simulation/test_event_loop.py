"""Virtual time: order, jumps, and timers that are set again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.codecs.errors import LocalError
from codecpilot.rtc.simulation.event_loop import MIN_WAKE_US, EventLoop, Wake


@given(st.lists(st.integers(0, 50), max_size=40))
def test_events_run_by_time_and_equal_times_by_order_of_scheduling(times):
    loop, ran = EventLoop(), []
    for number, time_us in enumerate(times):
        loop.at(time_us, lambda t=time_us, n=number: ran.append((loop.now_us, t, n)))
    loop.run_until(51)
    assert [(t, n) for _, t, n in ran] == sorted((t, n) for n, t in enumerate(times))
    assert all(now == t for now, t, _ in ran)
    assert loop.now_us == 51


def test_what_an_event_schedules_runs_in_the_same_pass_and_the_end_is_excluded():
    loop, ran = EventLoop(), []
    loop.at(5, lambda: loop.at(5, lambda: ran.append(loop.now_us)))
    loop.at(5, lambda: loop.at(10, lambda: ran.append(loop.now_us)))
    loop.run_until(10)
    assert ran == [5]
    loop.run_until(11)
    assert ran == [5, 10]


def test_the_past_cannot_be_changed():
    loop = EventLoop()
    loop.run_until(10)
    with pytest.raises(LocalError, match="9 us has passed, it is 10 us"):
        loop.at(9, lambda: None)


def test_only_the_time_set_last_wakes():
    loop, woken = EventLoop(), []
    wake = Wake(loop, lambda: woken.append(loop.now_us))
    wake.set(2000)
    wake.set(5000)
    wake.set(3000)
    loop.run_until(10_000)
    assert woken == [3000]
    wake.set(20_000)
    wake.set(None)
    loop.run_until(30_000)
    assert woken == [3000]


def test_a_core_that_wants_to_be_woken_at_once_for_ever_does_not_stop_time():
    loop, woken = EventLoop(), []

    def again() -> None:
        woken.append(loop.now_us)
        wake.set(0)

    wake = Wake(loop, again)
    wake.set(0)
    loop.run_until(10 * MIN_WAKE_US + 1)
    assert woken == [MIN_WAKE_US * n for n in range(1, 11)]
