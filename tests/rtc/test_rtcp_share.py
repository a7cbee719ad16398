from __future__ import annotations

import pytest

from codecpilot.rtc.rtcp_share import RtcpShare

S = 1_000_000


def receive(share: RtcpShare, *, bps: int, start_us: int, end_us: int) -> None:
    packet_bytes, interval_us = 956, 8_000_000_000 // bps  # 1000 with IP, UDP and SRTP
    for now_us in range(start_us, end_us, interval_us):
        share.received(packet_bytes, now_us=now_us)


def test_five_percent_of_the_last_second_are_allowed_headers_counted():
    share = RtcpShare()
    receive(share, bps=800_000, start_us=0, end_us=S)
    # 100 packets of 1000 bytes: 5000 bytes.
    assert share.allows(5_000 - 48, now_us=S - 1)
    assert not share.allows(5_001 - 48, now_us=S - 1)
    share.sent_feedback(1_000 - 48, now_us=S - 1)
    share.sent_other(1_000 - 48, now_us=S - 1)
    assert share.allows(3_000 - 48, now_us=S - 1)
    assert not share.allows(3_001 - 48, now_us=S - 1)


def test_what_was_received_a_second_ago_allows_nothing():
    share = RtcpShare()
    receive(share, bps=800_000, start_us=0, end_us=S)
    assert not share.allows(1, now_us=2 * S)


@pytest.mark.parametrize(
    ("bps", "interval_us"),
    [(20_000, 100_000), (200_000, 62_500), (400_000, 31_250), (2_000_000, 25_000)],
)
def test_the_interval_of_63_bytes_takes_four_fifths_of_the_share(bps: int, interval_us: int):
    share = RtcpShare()
    receive(share, bps=bps, start_us=0, end_us=2 * S)
    assert share.interval_us(63 - 48, now_us=2 * S) == pytest.approx(interval_us, rel=0.02)


def test_other_rtcp_lengthens_the_interval():
    share = RtcpShare()
    receive(share, bps=400_000, start_us=0, end_us=S)
    alone_us = share.interval_us(52, now_us=S - 1)
    share.sent_other(1_250 - 48, now_us=S - 1)
    assert share.interval_us(52, now_us=S - 1) == pytest.approx(2 * alone_us, rel=0.01)
    share.sent_other(1_250 - 48, now_us=S - 1)
    assert share.interval_us(52, now_us=S - 1) == 100_000


def test_a_stream_that_begins_is_reported_as_often_as_its_rate_allows():
    share = RtcpShare()
    receive(share, bps=800_000, start_us=0, end_us=200_000)
    assert share.interval_us(52, now_us=200_000) == 25_000


def test_a_flood_takes_no_memory():
    share = RtcpShare()
    for now_us in range(0, 3 * S, 30):
        share.received(100, now_us=now_us)
        share.interval_us(100, now_us=now_us)
    assert len(share._received._values) <= 1_001
