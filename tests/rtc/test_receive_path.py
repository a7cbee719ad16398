"""A path's feedback in virtual time: when it goes out, what it tells and what it may cost."""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import pytest

from codecpilot.rtc.receive_path import ReceivePath
from codecpilot.rtc.rtp.extensions import abs_send_time
from codecpilot.rtc.rtp.rtcp import TransportFeedback, parse_rtcp

S = 1_000_000
FRAME_US = 33_333
BASE_DELAY_US = 20_000
PACKET_BYTES = 1_100
RTP_OVERHEAD_BYTES = 28 + 16  # IP and UDP, SRTP's tag
RTCP_OVERHEAD_BYTES = 28 + 20  # and SRTCP's index


@dataclass(frozen=True, kw_only=True)
class Packet:
    number: int
    arrival_us: int
    sent_us: int
    size_bytes: int = PACKET_BYTES
    ssrc: int = 5


@dataclass(frozen=True, kw_only=True)
class Sent:
    time_us: int
    size_bytes: int
    feedback: TransportFeedback


def link(
    rate_bps: int,
    *,
    seconds: float,
    capacity_bps: int,
    drop_us: int | None = None,
    drop_bps: int = 0,
) -> list[Packet]:
    """Frames of a steady rate, paced at 1.25 times it, through a link that may lose capacity."""
    packets: list[Packet] = []
    free_us, pacer_us, credit = 0, 0, 0.0
    for capture_us in range(0, int(seconds * S), FRAME_US):
        credit += rate_bps * FRAME_US / 8 / S
        pacer_us = max(pacer_us, capture_us)
        while credit >= 1:
            size = min(PACKET_BYTES, max(60, int(credit) - RTP_OVERHEAD_BYTES))
            credit -= size + RTP_OVERHEAD_BYTES
            bits = 8 * (size + RTP_OVERHEAD_BYTES)
            capacity = drop_bps if drop_us is not None and pacer_us >= drop_us else capacity_bps
            free_us = max(free_us, pacer_us) + bits * S // capacity
            packets.append(
                Packet(
                    number=len(packets),
                    arrival_us=free_us + BASE_DELAY_US,
                    sent_us=pacer_us,
                    size_bytes=size,
                )
            )
            pacer_us += bits * S * 4 // (5 * rate_bps)
    return packets


def drive(
    path: ReceivePath, packets: list[Packet], *, send_times: bool = True, rtcp_every: int = 0
) -> list[Sent]:
    """Hand over the packets as they arrive, asking for feedback after each and at each timeout."""
    sent: list[Sent] = []

    def poll(now_us: int) -> None:
        for data in path.poll_rtcp(now_us=now_us):
            (feedback,) = parse_rtcp(data)
            assert isinstance(feedback, TransportFeedback)
            sent.append(Sent(time_us=now_us, size_bytes=len(data), feedback=feedback))

    def wait_until(end_us: int) -> None:
        while (due_us := path.poll_timeout()) is not None and due_us < end_us:
            before = (len(sent), due_us)
            poll(due_us)
            assert (len(sent), path.poll_timeout()) != before, "a timer that changes nothing"

    for packet in sorted(packets, key=lambda p: p.arrival_us):
        wait_until(packet.arrival_us)
        if rtcp_every and packet.number % rtcp_every == 0:
            path.handle_rtcp_sent(20, now_us=packet.arrival_us)
        path.handle_packet(
            packet.number & 0xFFFF,
            size_bytes=packet.size_bytes,
            arrival_us=packet.arrival_us,
            ssrc=packet.ssrc,
            abs_send_time=abs_send_time(packet.sent_us) if send_times else None,
        )
        poll(packet.arrival_us)
    wait_until(1 << 60)
    return sent


def told(sent: list[Sent], *, first: int = 0) -> dict[int, int]:
    """Unwrapped number to arrival in steps of 250 us; the first telling counts."""
    found: dict[int, int] = {}
    last = first
    for item in sent:
        feedback = item.feedback
        number = last + ((feedback.base_sequence - last + 0x8000) & 0xFFFF) - 0x8000
        step = feedback.reference_time * 256
        for status in feedback.statuses:
            step += status or 0
            if status is not None:
                assert found.setdefault(number, step) == step
            number += 1
        last = number - 1
    return found


class Share:
    """RTCP in relation to what was received, datagrams whole."""

    def __init__(self, packets: list[Packet], sent: list[Sent]) -> None:
        self._received = _sums([(p.arrival_us, p.size_bytes + RTP_OVERHEAD_BYTES) for p in packets])
        self._sent = _sums([(s.time_us, s.size_bytes + RTCP_OVERHEAD_BYTES) for s in sent])

    def between(self, start_us: int, end_us: int) -> float:
        """From behind start_us to end_us."""
        received, sent = (
            sums[bisect_right(times, end_us)] - sums[bisect_right(times, start_us)]
            for times, sums in (self._received, self._sent)
        )
        return sent / received


def _sums(values: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    ordered = sorted(values)
    return [time_us for time_us, _ in ordered], [0, *accumulate(size for _, size in ordered)]


def assert_share_holds(packets: list[Packet], sent: list[Sent]) -> None:
    """5 % of every second that ends with a feedback, but for one that 100 ms were waited for."""
    share = Share(packets, sent)
    for before, item in zip([None, *sent], sent, strict=False):
        waited = before is None or item.time_us - before.time_us >= 100_000
        assert waited or share.between(item.time_us - S, item.time_us) <= 0.05


def gaps_us(sent: list[Sent]) -> list[int]:
    return [b.time_us - a.time_us for a, b in pairwise(sent)]


def test_every_arrival_is_told_and_counted_on_across_the_wrap():
    packets = [
        replace(p, number=p.number + 65_000)
        for p in link(1_000_000, seconds=6, capacity_bps=5_000_000)
    ]
    packets = [p for p in packets if p.number % 50]
    path = ReceivePath(ssrc=9)
    sent = drive(path, packets)
    assert told(sent, first=65_001) == {p.number: p.arrival_us // 250 for p in packets}
    counts = [s.feedback.feedback_count for s in sent]
    assert counts == [index & 0xFF for index in range(len(sent))]
    assert {s.feedback.sender_ssrc for s in sent} == {9}


def test_feedback_names_the_source_of_the_last_packet():
    path = ReceivePath(ssrc=9)
    packets = [
        Packet(number=0, arrival_us=0, sent_us=0, ssrc=5),
        Packet(number=1, arrival_us=30_000, sent_us=30_000, ssrc=6),
        Packet(number=1, arrival_us=31_000, sent_us=31_000, ssrc=7),
    ]
    sent = drive(path, packets)
    assert [s.feedback.media_ssrc for s in sent] == [5, 6]


def test_nothing_is_sent_while_nothing_arrives_and_copies_are_nothing():
    path = ReceivePath(ssrc=9)
    assert path.poll_timeout() is None
    assert path.poll_rtcp(now_us=0) == []
    packets = link(300_000, seconds=1, capacity_bps=1_000_000)
    copies = [replace(p, arrival_us=p.arrival_us + 2 * S) for p in packets]
    sent = drive(path, packets + copies[-50:])
    assert max(s.time_us for s in sent) < 1.2 * S
    assert path.poll_timeout() is None


@pytest.mark.parametrize(
    ("rate_bps", "least_ms", "most_ms"),
    [(150_000, 60, 95), (300_000, 40, 52), (600_000, 25, 30), (3_000_000, 25, 26)],
)
def test_the_regular_interval_is_the_share_s_between_25_and_100_ms(rate_bps, least_ms, most_ms):
    packets = link(rate_bps, seconds=8, capacity_bps=3 * rate_bps)
    sent = drive(ReceivePath(ssrc=9), packets)
    steady = gaps_us([s for s in sent if s.time_us > 2 * S])
    assert least_ms <= sum(steady) / len(steady) / 1000 <= most_ms
    assert min(steady) >= 25_000
    assert max(steady) <= 100_000
    assert_share_holds(packets, sent)


def test_at_very_low_rates_ten_feedbacks_a_second_go_out_whatever_their_share():
    packets = link(20_000, seconds=10, capacity_bps=100_000)
    sent = drive(ReceivePath(ssrc=9), packets)
    assert 0.2 < Share(packets, sent).between(2 * S, 9 * S) < 0.3
    assert min(gaps_us(sent)) >= 100_000
    # 68 bytes each: 5.5 kbps at most.
    assert max(s.size_bytes + RTCP_OVERHEAD_BYTES for s in sent) <= 76


@pytest.mark.parametrize(("before_bps", "after_bps"), [(600_000, 150_000), (1_500_000, 400_000)])
def test_a_falling_capacity_is_told_with_the_first_packet_that_it_delays(before_bps, after_bps):
    drop_us = 5 * S
    packets = link(
        before_bps,
        seconds=8,
        capacity_bps=before_bps * 11 // 10,
        drop_us=drop_us,
        drop_bps=after_bps,
    )
    sent = drive(ReceivePath(ssrc=9), packets)
    delayed = [p for p in packets if p.sent_us >= drop_us]
    usual_us = max(p.arrival_us - p.sent_us for p in packets if p.sent_us < drop_us)
    first = next(p for p in delayed if p.arrival_us - p.sent_us >= max(usual_us, 35_000) + 1_000)
    assert first in delayed[:3]
    assert first.arrival_us in {s.time_us for s in sent}
    # And while the queue grows on, each that waited longer.
    longest_us = first.arrival_us - first.sent_us
    for packet in delayed[delayed.index(first) + 1 :][:10]:
        if packet.arrival_us - packet.sent_us >= longest_us + 1_010:
            longest_us = packet.arrival_us - packet.sent_us
            assert packet.arrival_us in {s.time_us for s in sent}
    assert longest_us >= 150_000
    assert_share_holds(packets, sent)


def test_without_send_times_a_falling_capacity_is_told_at_the_next_interval():
    packets = link(600_000, seconds=8, capacity_bps=660_000, drop_us=5 * S, drop_bps=150_000)
    sent = drive(ReceivePath(ssrc=9), packets, send_times=False)
    assert min(gaps_us(sent)) >= 25_000
    assert_share_holds(packets, sent)


def test_a_gap_is_told_at_once():
    packets = link(600_000, seconds=6, capacity_bps=3_000_000)
    lost = range(150, len(packets), 40)
    arriving = [p for p in packets if p.number not in lost]
    sent = drive(ReceivePath(ssrc=9), arriving)
    times = {s.time_us for s in sent}
    behind = [p for p in arriving if p.number - 1 in lost]
    assert len(behind) >= 5
    assert all(p.arrival_us in times for p in behind)
    assert_share_holds(arriving, sent)


@pytest.mark.parametrize("rate_bps", [20_000, 120_000, 250_000, 600_000])
@pytest.mark.parametrize("seed", range(3))
def test_the_share_holds_over_any_second_on_the_worst_of_paths(rate_bps, seed):
    rng = random.Random(seed)
    packets = [
        replace(p, arrival_us=p.arrival_us + rng.randint(0, rng.choice([100, 80_000])))
        for p in link(rate_bps, seconds=10, capacity_bps=2 * rate_bps)
        if rng.random() > 0.2
    ]
    path = ReceivePath(ssrc=9)
    sent = drive(path, packets)
    assert_share_holds(packets, sent)
    assert max(gaps_us(sent)) <= 300_000
    # What overtook more than 100 others is not told.
    assert told(sent) == {p.number: p.arrival_us // 250 for p in packets}


def test_other_rtcp_takes_from_the_same_share():
    packets = link(300_000, seconds=6, capacity_bps=1_000_000)
    alone = drive(ReceivePath(ssrc=9), packets)
    beside = drive(ReceivePath(ssrc=9), packets, rtcp_every=5)
    # 12 times 62 bytes a second are 40 % of what 300 kbps allow.
    mean_us = [sum(gaps_us(sent)) / len(gaps_us(sent)) for sent in (alone, beside)]
    assert 1.4 <= mean_us[1] / mean_us[0] <= 2.2


def test_feedback_of_a_stream_that_paused_goes_on_at_once():
    packets = link(600_000, seconds=2, capacity_bps=3_000_000)
    later = [
        replace(
            p,
            number=p.number + len(packets),
            arrival_us=p.arrival_us + 40 * S,
            sent_us=p.sent_us + 40 * S,
        )
        for p in packets
    ]
    sent = drive(ReceivePath(ssrc=9), packets + later)
    after = [s for s in sent if s.time_us > 40 * S]
    assert after[0].time_us == later[0].arrival_us
    assert sum(gaps_us(after)) / len(gaps_us(after)) <= 30_000
    assert_share_holds(packets + later, sent)


@pytest.mark.parametrize("seed", range(3))
def test_hostile_packets_cost_no_more_than_honest_ones(seed):
    rng = random.Random(seed)
    packets = [
        Packet(
            number=rng.choice([rng.randrange(1 << 16), index * 2_999, index, 7]),
            arrival_us=index * 200,
            sent_us=rng.randrange(64 * S),
            size_bytes=rng.randint(20, 200),
            ssrc=rng.randrange(1 << 32),
        )
        for index in range(20_000)
    ]
    path = ReceivePath(ssrc=9)
    sent = drive(path, packets)
    assert_share_holds(packets, sent)
    assert sent
    assert max(s.size_bytes for s in sent) <= 1_250
    assert len(path._arrivals._arrivals) <= 6_000
