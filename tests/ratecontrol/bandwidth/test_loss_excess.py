from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.loss_excess import LossExcess
from codecpilot.ratecontrol.bandwidth.messages import Feedback, PacketResult, SentPacket

THRESHOLD = 0.05
FEEDBACK_US = 100_000


def feedback(now_us: int, *, packets: int, lost: int, size_bytes: int = 1_250) -> Feedback:
    packet = SentPacket(number=0, sent_us=now_us, size_bytes=size_bytes)
    results = tuple(
        PacketResult(packet=packet, arrival_us=None if n < lost else now_us) for n in range(packets)
    )
    return Feedback(now_us=now_us, results=results)


def tell(excess: LossExcess, *seconds: int, packets: int = 10, begin_s: int = 0) -> list[float]:
    """Feedback for as many seconds, of so many lost packets each; what was told to be carried."""
    carried = []
    for second, lost in enumerate(seconds, start=begin_s):
        for tenth in range(10):
            now_us = second * 1_000_000 + (tenth + 1) * FEEDBACK_US
            bps = excess.update(feedback(now_us, packets=packets, lost=lost))
            if bps is not None:
                carried.append(bps)
    return carried


def test_without_loss_nothing_is_said() -> None:
    excess = LossExcess(threshold_ratio=THRESHOLD)
    assert tell(excess, 0, 0, 0, 0) == []
    assert not excess.is_excessive
    assert excess.mean_ratio == 0


def test_loss_that_is_always_there_is_the_paths_own() -> None:
    excess = LossExcess(threshold_ratio=THRESHOLD)
    assert tell(excess, 1, 1, 1, 1, 1) == []
    assert not excess.is_excessive
    assert excess.mean_ratio == pytest.approx(0.1)


def test_loss_that_comes_says_what_the_path_carries() -> None:
    excess = LossExcess(threshold_ratio=THRESHOLD)
    carried = tell(excess, 0, 0, 3, 3)
    assert excess.is_excessive
    # 7 of 10 packets in 100 ms arrive, 700 kbps, and a little more is tried.
    assert 1 <= len(carried) <= 2
    assert 700_000 <= min(carried) <= max(carried) <= 800_000


def test_what_the_path_loses_anyway_is_not_taken_off() -> None:
    excess = LossExcess(threshold_ratio=THRESHOLD)
    carried = tell(excess, 2, 2, 6, 6)
    # 4 of 10 arrive and 8 would: it carries half of the 1 Mbps.
    assert carried
    assert 500_000 <= carried[-1] <= 560_000


def test_loss_below_the_threshold_is_none() -> None:
    excess = LossExcess(threshold_ratio=0.15)
    assert tell(excess, 0, 0, 1, 1) == []
    assert not excess.is_excessive


def test_chance_among_few_packets_is_no_excess() -> None:
    few, many = (LossExcess(threshold_ratio=THRESHOLD) for _ in range(2))
    # Eight in a hundred where nothing was lost before, of 27 packets and of 450.
    for excess, packets in ((few, 3), (many, 50)):
        tell(excess, 0, 0, packets=packets)
        for tenth in range(10):
            lost = 4 if packets == 50 else int(tenth in (2, 7))
            excess.update(feedback(2_100_000 + tenth * FEEDBACK_US, packets=packets, lost=lost))
        excess.update(feedback(3_200_000, packets=0, lost=0))
    assert not few.is_excessive
    assert many.is_excessive


def test_it_is_over_when_the_loss_is() -> None:
    excess = LossExcess(threshold_ratio=THRESHOLD)
    tell(excess, 0, 0, 3, 3)
    tell(excess, 0, 0, begin_s=4)
    assert not excess.is_excessive


def test_few_packets_say_nothing() -> None:
    excess = LossExcess(threshold_ratio=THRESHOLD)
    assert tell(excess, 0, 0, packets=10) == []
    assert tell(excess, 1, packets=1, begin_s=2) == []
    assert not excess.is_excessive


def test_a_window_of_a_long_pause_is_no_rate() -> None:
    excess = LossExcess(threshold_ratio=THRESHOLD)
    tell(excess, 0, 0)
    assert excess.update(feedback(20_000_000, packets=40, lost=20)) is None
    assert excess.is_excessive


def test_where_all_is_lost_nothing_is_carried() -> None:
    excess = LossExcess(threshold_ratio=THRESHOLD)
    assert set(tell(excess, 10, 10, 10)) == {0}


@given(
    st.lists(
        st.tuples(st.integers(0, 3_000_000), st.integers(0, 60), st.integers(0, 60)), max_size=40
    )
)
def test_what_is_carried_is_never_more_than_what_was_sent_of_it(
    steps: list[tuple[int, int, int]],
) -> None:
    excess, now_us = LossExcess(threshold_ratio=THRESHOLD), 0
    for gap_us, packets, lost in steps:
        now_us += gap_us
        bps = excess.update(feedback(now_us, packets=packets, lost=min(lost, packets)))
        assert 0 <= excess.mean_ratio <= 1
        if bps is not None:
            assert excess.is_excessive
            assert 0 <= bps <= sum(step[1] for step in steps) * 10_000 * 1.1
