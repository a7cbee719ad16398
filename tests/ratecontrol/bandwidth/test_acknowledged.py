from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codecpilot.ratecontrol.bandwidth.acknowledged import AcknowledgedBitrate
from codecpilot.ratecontrol.bandwidth.messages import SentPacket


def packet(number: int, sent_us: int, size_bytes: int = 1_250) -> SentPacket:
    return SentPacket(number=number, sent_us=sent_us, size_bytes=size_bytes)


def feed(
    bitrate: AcknowledgedBitrate, *, gap_us: int, count: int, first: int = 0, from_us: int = 0
) -> None:
    """Packets of 10,000 bits, sent and arriving gap_us apart."""
    for i in range(count):
        at_us = from_us + i * gap_us
        bitrate.handle_arrival(packet(first + i, at_us), arrival_us=at_us + 40_000, in_alr=False)


def test_there_is_none_until_half_a_second_arrived() -> None:
    bitrate = AcknowledgedBitrate()
    feed(bitrate, gap_us=10_000, count=50)
    assert bitrate.bps is None
    feed(bitrate, gap_us=10_000, count=1, first=50, from_us=500_000)
    assert bitrate.bps == 1_000_000


def test_it_follows_a_change_within_a_second() -> None:
    bitrate = AcknowledgedBitrate()
    feed(bitrate, gap_us=10_000, count=200)
    feed(bitrate, gap_us=20_000, count=50, first=200, from_us=2_000_000)
    assert bitrate.bps is not None
    assert 465_000 < bitrate.bps < 535_000


def test_an_expected_change_is_followed_faster() -> None:
    patient, told = AcknowledgedBitrate(), AcknowledgedBitrate()
    for bitrate in (patient, told):
        feed(bitrate, gap_us=20_000, count=100)
        feed(bitrate, gap_us=5_000, count=30, first=100, from_us=2_000_000)
    told.expect_change()
    for bitrate in (patient, told):
        feed(bitrate, gap_us=5_000, count=65, first=130, from_us=2_150_000)
    assert patient.bps is not None
    assert told.bps is not None
    assert 500_000 < patient.bps < 0.8 * told.bps < 1_650_000


def test_packets_sent_in_one_burst_all_count() -> None:
    bitrate = AcknowledgedBitrate()
    for number in range(400):
        burst, i = divmod(number, 10)
        at_us = burst * 100_000
        bitrate.handle_arrival(
            packet(number, at_us), arrival_us=at_us + 30_000 + i * 10_000, in_alr=False
        )
    assert bitrate.bps is not None
    assert 970_000 < bitrate.bps < 1_080_000


def test_arrival_times_squeezed_together_do_not_raise_it_above_what_was_sent() -> None:
    bitrate = AcknowledgedBitrate()
    for number in range(3_000):
        sent_us = number * 10_000
        bitrate.handle_arrival(packet(number, sent_us), arrival_us=sent_us // 3, in_alr=False)
    assert bitrate.bps is not None
    assert 980_000 < bitrate.bps <= 1_100_000


numbers = st.integers(min_value=0, max_value=2_000)
arrivals = st.integers(min_value=-(2**40), max_value=2**40)
steps = st.integers(min_value=-500_000, max_value=500_000)


@given(st.lists(st.tuples(numbers, st.one_of(arrivals, steps)), max_size=150))
def test_no_arrival_times_raise_it_above_what_was_sent(told: list[tuple[int, int]]) -> None:
    """10,000 bits each 10 ms: 55 packets in eleven steps, whichever are told, in any order."""
    bitrate = AcknowledgedBitrate()
    for number, arrival_us in dict(told).items():
        bitrate.handle_arrival(packet(number, number * 10_000), arrival_us=arrival_us, in_alr=False)
        assert bitrate.bps is None or 0 <= bitrate.bps <= 1_100_000
