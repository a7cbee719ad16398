"""Feedback from a peer that makes up what arrived and when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.gcc import GccEstimator
from codecpilot.ratecontrol.bandwidth.messages import Feedback, PacketResult, SentPacket

# 10,000 bits each 20 ms: 500 kbps, up to 550 kbps over 500 ms counted in steps of 50 ms.
GAP_US = 20_000
PACKET_BYTES = 1_250
SENT_BPS = 500_000
SENT_MAX_BPS = SENT_BPS * 11 // 10
LIMIT_BPS = SENT_MAX_BPS * 3 // 2 + 10_000

arrivals = st.one_of(
    st.none(),
    st.integers(min_value=0, max_value=3_000),
    st.integers(min_value=-(2**38), max_value=2**38),
)
# Each feedback: how many packets were sent since the last, and what is said of each.
reports = st.lists(st.lists(arrivals, min_size=1, max_size=40), max_size=25)


def sent(number: int, *, probe_id: int | None = None) -> SentPacket:
    return SentPacket(
        number=number, sent_us=number * GAP_US, size_bytes=PACKET_BYTES, probe_id=probe_id
    )


def tell(estimator: GccEstimator, packets: list[SentPacket], said: list[int | None]) -> None:
    """Small numbers are delays that a true receiver may see, in tenths of a millisecond."""
    results = tuple(
        PacketResult(
            packet=packet,
            arrival_us=packet.sent_us + 100 * at if at is not None and 0 <= at <= 3_000 else at,
        )
        for packet, at in zip(packets, said, strict=True)
    )
    now_us = packets[-1].sent_us + 50_000
    estimator.handle_feedback(Feedback(now_us=now_us, results=results))
    estimator.poll(now_us=now_us)


@given(reports, st.booleans())
def test_no_feedback_raises_the_target_above_what_was_sent_and_acknowledged(
    said: list[list[int | None]], probing: bool
) -> None:
    estimator = GccEstimator()
    number = 0
    # Probes to twice the demand of 500 kbps; what they are said to have reached is no more than
    # the 500 kbps at which their packets were really sent.
    estimator.set_demand(SENT_BPS, now_us=0)
    cluster = estimator.poll_probe(now_us=0) if probing else None
    probe_id = None if cluster is None else cluster.probe_id
    for report in said:
        packets = [sent(number + i, probe_id=probe_id) for i in range(len(report))]
        number += len(report)
        for packet in packets:
            estimator.handle_sent(packet)
        before_bps = estimator.target_bps
        tell(estimator, packets, report)
        acknowledged_bps = estimator.acknowledged_bps
        assert acknowledged_bps is None or 0 <= acknowledged_bps <= SENT_MAX_BPS
        assert 10_000 <= estimator.target_bps <= LIMIT_BPS
        if estimator.target_bps > before_bps:
            bound_bps = 0 if acknowledged_bps is None else acknowledged_bps * 3 // 2 + 10_000
            assert estimator.target_bps <= max(bound_bps, SENT_BPS if probing else 0)


@given(st.lists(st.tuples(st.integers(min_value=0, max_value=300), arrivals), max_size=300))
def test_packets_told_in_any_order_do_no_more(said: list[tuple[int, int | None]]) -> None:
    """Missing ones that come much later, and twice, one feedback each."""
    estimator = GccEstimator()
    estimator.set_demand(SENT_BPS, now_us=0)
    for number in range(301):
        estimator.handle_sent(sent(number))
    arrived: set[int] = set()
    now_us = 301 * GAP_US
    for number, arrival_us in said:
        if number in arrived:
            continue
        if arrival_us is not None:
            arrived.add(number)
        now_us += 10_000
        result = PacketResult(packet=sent(number), arrival_us=arrival_us)
        estimator.handle_feedback(Feedback(now_us=now_us, results=(result,)))
        assert 10_000 <= estimator.target_bps <= LIMIT_BPS


def test_squeezed_arrival_times_over_a_minute_gain_nothing() -> None:
    """Told as if all arrived in a third of the time: an honest peer would be given as much."""
    rates = []
    for squeeze in (1, 3):
        estimator = GccEstimator()
        estimator.set_demand(2_000_000, now_us=0)
        for first in range(0, 3_000, 5):
            packets = [sent(first + i) for i in range(5)]
            for packet in packets:
                estimator.handle_sent(packet)
            results = tuple(
                PacketResult(packet=packet, arrival_us=10_000_000 + packet.sent_us // squeeze)
                for packet in packets
            )
            now_us = packets[-1].sent_us + 50_000
            feedback = Feedback(now_us=now_us, results=results)
            estimator.handle_feedback(feedback)
        rates.append(estimator.target_bps)
    assert 700_000 < rates[0] <= LIMIT_BPS
    assert rates[1] <= LIMIT_BPS
