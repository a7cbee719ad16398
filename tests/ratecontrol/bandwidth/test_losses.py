from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.losses import LossCounter
from codecpilot.ratecontrol.bandwidth.messages import PacketResult, SentPacket


def result(number: int, *, arrived: bool) -> PacketResult:
    packet = SentPacket(number=number, sent_us=number, size_bytes=100)
    return PacketResult(packet=packet, arrival_us=number if arrived else None)


def test_missing_packets_are_lost() -> None:
    results = [result(1, arrived=True), result(2, arrived=False), result(3, arrived=True)]
    assert LossCounter().count(results) == (1, 3)


def test_one_that_comes_after_all_is_taken_back() -> None:
    losses = LossCounter()
    assert losses.count([result(1, arrived=False)]) == (1, 1)
    assert losses.count([result(1, arrived=True)]) == (-1, 0)


def test_one_reported_missing_again_is_lost_once() -> None:
    losses = LossCounter()
    losses.count([result(1, arrived=False)])
    assert losses.count([result(1, arrived=False)]) == (0, 0)


@given(st.lists(st.tuples(st.integers(min_value=0, max_value=40), st.booleans()), max_size=200))
def test_lost_is_never_more_than_all_in_sum(told: list[tuple[int, bool]]) -> None:
    losses = LossCounter(remembered=8)
    lost = total = 0
    for number, arrived in told:
        more_lost, more = losses.count([result(number, arrived=arrived)])
        lost, total = lost + more_lost, total + more
        assert 0 <= lost <= total
