from __future__ import annotations

from codecpilot.rtc.resilience.retransmission_budget import WINDOW_US, RetransmissionBudget

TARGET_BPS = 400_000
WINDOW_BYTES = TARGET_BPS * WINDOW_US // 1_000_000 // 8


def available(budget: RetransmissionBudget, now_us: int, target_bps: int = TARGET_BPS) -> int:
    return budget.available_bytes(target_bps=target_bps, now_us=now_us)


def test_a_window_of_the_target_is_there_at_first_and_never_more():
    budget = RetransmissionBudget()
    assert available(budget, 5) == WINDOW_BYTES
    assert available(budget, 100 * WINDOW_US) == WINDOW_BYTES


def test_what_was_spent_comes_back_at_the_target_rate():
    budget = RetransmissionBudget()
    budget.spend(available(budget, 0))
    assert available(budget, 0) == 0
    assert available(budget, WINDOW_US // 4) == WINDOW_BYTES // 4
    assert available(budget, WINDOW_US) == WINDOW_BYTES


def test_many_small_steps_fill_it_as_one_does():
    budget = RetransmissionBudget()
    budget.spend(available(budget, 0))
    for now_us in range(10_001):
        filled = available(budget, now_us)
    assert filled == TARGET_BPS // 100 // 8


def test_a_target_that_falls_takes_back_what_was_saved():
    budget = RetransmissionBudget()
    available(budget, 0)
    assert available(budget, 1, target_bps=TARGET_BPS // 10) == WINDOW_BYTES // 10
