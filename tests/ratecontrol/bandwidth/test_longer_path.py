from __future__ import annotations

from collections.abc import Callable

from codecpilot.ratecontrol.bandwidth.longer_path import LongerPath

STEP_US = 50_000
CAPACITY_BPS = 1_000_000.0


def found_s(queue_us: Callable[[float], float], *, sent_ratio: float = 0.8) -> float | None:
    """When in ten seconds it is taken for longer."""
    longer_path = LongerPath()
    for step in range(1, 200):
        is_longer = longer_path.update(
            queue_us=queue_us(step * STEP_US / 1e6),
            elapsed_us=STEP_US,
            sent_bits=int(sent_ratio * CAPACITY_BPS * STEP_US / 1e6),
            capacity_bps=CAPACITY_BPS,
            now_us=step * STEP_US,
        )
        if is_longer:
            return step * STEP_US / 1e6
    return None


def test_a_delay_that_stays_although_a_queue_would_have_drained_is_the_paths() -> None:
    at_s = found_s(lambda now_s: 80_000)
    assert at_s is not None
    assert 2.5 < at_s < 4


def test_only_the_least_delay_of_a_second_has_to_stay() -> None:
    at_s = found_s(lambda now_s: 80_000 + now_s * 20 % 7 * 10_000)
    assert at_s is not None
    assert 2.5 < at_s < 4


def test_a_short_delay_costs_nothing_and_stays_a_queue() -> None:
    assert found_s(lambda now_s: 5_000) is None


def test_a_queue_that_is_kept_by_what_is_sent_is_no_path() -> None:
    assert found_s(lambda now_s: 80_000, sent_ratio=1) is None


def test_more_has_to_drain_the_longer_the_delay() -> None:
    assert found_s(lambda now_s: 900_000, sent_ratio=0.8) is None
    assert found_s(lambda now_s: 900_000, sent_ratio=0.3) is not None


def test_a_queue_that_moves_from_second_to_second_is_no_path() -> None:
    assert found_s(lambda now_s: 80_000 + int(now_s) * 6_000) is None


def test_it_is_said_once() -> None:
    longer_path, told = LongerPath(), 0
    for step in range(1, 120):
        told += longer_path.update(
            queue_us=80_000,
            elapsed_us=STEP_US,
            sent_bits=0,
            capacity_bps=CAPACITY_BPS,
            now_us=step * STEP_US,
        )
    # Six seconds, if nobody took note: three for each time.
    assert told == 1
