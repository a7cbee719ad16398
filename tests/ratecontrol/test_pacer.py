"""When packets leave, in which order, and which never do."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.ratecontrol.pacer import (
    GROUP_US,
    MAX_CREDIT_US,
    MAX_WAIT_US,
    Pacer,
    PacketKind,
)

MEDIA, RETRANSMISSION, FEC = PacketKind.MEDIA, PacketKind.RETRANSMISSION, PacketKind.FEC
RATE = 1_000_000
# At RATE it takes 8 ms.
SIZE = 1000
PACKET_US = 8_000


@dataclass(frozen=True)
class Packet:
    name: str = ""
    kind: PacketKind = MEDIA
    stream: int = 1
    frame_id: int = 0
    key: bool = False
    is_read: bool = True
    size_bytes: int = SIZE
    enqueued_us: int = 0


def leaving(pacer: Pacer[Packet], *, now_us: int = 0) -> list[tuple[int, Packet]]:
    """All that waits, with its times, asked as poll_timeout says."""
    left = []
    while not pacer.is_empty:
        now_us = max(now_us, pacer.free_us())
        before = len(left)
        while (packet := pacer.pop(now_us=now_us)) is not None:
            left.append((now_us, packet))
        assert len(left) > before, "nothing left when something was due"
    return left


def frame(frame_id: int, *, packets: int = 1, now_us: int = 0, **fields) -> list[Packet]:
    return [
        Packet(f"{frame_id}.{i}", frame_id=frame_id, enqueued_us=now_us, **fields)
        for i in range(packets)
    ]


def expired(pacer: Pacer[Packet], *, now_us: int) -> list[str]:
    return [packet.name for packet in pacer.expire(now_us=now_us)]


def test_the_first_packet_leaves_at_once_and_the_others_at_the_rate():
    pacer: Pacer[Packet] = Pacer(RATE)
    pacer.enqueue(frame(1, packets=5))
    times = [time_us for time_us, _ in leaving(pacer)]
    assert times == [0, PACKET_US, 2 * PACKET_US, 3 * PACKET_US, 4 * PACKET_US]


def test_retransmissions_leave_before_media_and_fec_after_it():
    pacer: Pacer[Packet] = Pacer(RATE)
    pacer.enqueue([Packet("f", FEC), Packet("m"), Packet("n"), Packet("r", RETRANSMISSION)])
    assert [packet.name for _, packet in leaving(pacer)] == ["r", "m", "n", "f"]


def test_small_packets_that_are_due_within_a_millisecond_leave_together():
    pacer: Pacer[Packet] = Pacer(RATE)
    # 100 bytes take 0.8 ms.
    pacer.enqueue(frame(1, packets=40, size_bytes=100))
    left = leaving(pacer)
    times = sorted({time_us for time_us, _ in left})
    assert 15 <= len(times) <= 21
    assert 40 * 800 - 2 * 800 - GROUP_US <= times[-1] <= 39 * 800


def test_a_change_of_rate_counts_at_once():
    pacer: Pacer[Packet] = Pacer(RATE)
    pacer.enqueue(frame(1, packets=3))
    assert pacer.pop(now_us=0) is not None
    assert pacer.free_us() == PACKET_US
    # Half of it at the old rate, the rest at twice that.
    pacer.set_rate(2 * RATE, now_us=PACKET_US // 2)
    assert pacer.free_us() == PACKET_US * 3 // 4
    assert pacer.pop(now_us=PACKET_US * 3 // 4) is not None
    assert pacer.free_us() == PACKET_US * 5 // 4


def test_idle_time_earns_no_burst():
    pacer: Pacer[Packet] = Pacer(RATE)
    assert pacer.may_send(now_us=0)
    pacer.enqueue(frame(1, packets=30, now_us=1_000_000))
    assert [t for t, _ in leaving(pacer, now_us=1_000_000)][:2] == [1_000_000, 1_008_000]


def test_a_late_driver_catches_up_a_little():
    pacer: Pacer[Packet] = Pacer(RATE)
    pacer.enqueue(frame(1, packets=3))
    assert pacer.pop(now_us=0) is not None
    # 100 ms late: 5 ms of it count, less than a packet.
    now_us = PACKET_US + 100_000
    assert pacer.pop(now_us=now_us) is not None
    assert pacer.pop(now_us=now_us) is None
    assert pacer.free_us() == now_us + PACKET_US - MAX_CREDIT_US


def test_time_that_runs_backwards_drains_nothing():
    pacer: Pacer[Packet] = Pacer(RATE)
    pacer.enqueue(frame(1, packets=2, now_us=50_000))
    assert pacer.pop(now_us=50_000) is not None
    assert pacer.pop(now_us=0) is None
    assert pacer.free_us() == 50_000 + PACKET_US


def test_frames_that_would_begin_to_leave_too_late_are_taken_out_whole():
    pacer: Pacer[Packet] = Pacer(RATE)
    # 25 packets take 200 ms: frame 5 would begin then, frame 6 after 240 ms.
    for frame_id in range(1, 8):
        pacer.enqueue(frame(frame_id, packets=5))
    assert pacer.wait_us(now_us=0) == 35 * PACKET_US
    assert expired(pacer, now_us=0) == [f"{f}.{i}" for f in (7,) for i in range(5)]
    assert [p.frame_id for _, p in leaving(pacer)] == [f for f in range(1, 7) for _ in range(5)]


def test_a_frame_that_has_begun_is_finished_however_slow_the_path_becomes():
    pacer: Pacer[Packet] = Pacer(RATE)
    pacer.enqueue(frame(1, packets=10))
    pacer.enqueue(frame(2, packets=1))
    assert pacer.pop(now_us=0) is not None
    pacer.set_rate(RATE // 10, now_us=0)
    assert expired(pacer, now_us=0) == ["2.0"]
    assert [p.name for _, p in leaving(pacer)] == [f"1.{i}" for i in range(1, 10)]


def test_what_follows_a_frame_that_is_taken_out_goes_with_it_up_to_the_next_key_frame():
    pacer: Pacer[Packet] = Pacer(RATE)
    pacer.enqueue(frame(1, packets=4))
    pacer.enqueue(frame(1, packets=1, stream=2))
    pacer.enqueue(frame(2, now_us=150_000))
    pacer.enqueue(frame(3, now_us=150_000, key=True))
    pacer.enqueue(frame(4, now_us=150_000))
    assert pacer.pop(now_us=0) is not None
    # Stream 2 has waited too long; stream 1's frames have not.
    assert expired(pacer, now_us=190_000) == ["1.0"]
    pacer.enqueue(frame(5, packets=30, now_us=190_000))
    pacer.enqueue(frame(6, now_us=190_000))
    pacer.enqueue(frame(7, now_us=190_000, key=True, size_bytes=1))
    pacer.enqueue(frame(8, now_us=190_000, size_bytes=1))
    assert expired(pacer, now_us=190_000) == ["6.0", "7.0", "8.0"]
    fresh = [p.name for _, p in leaving(pacer, now_us=190_000)]
    assert fresh[:6] == ["1.1", "1.2", "1.3", "2.0", "3.0", "4.0"]


def test_a_late_frame_that_no_other_reads_goes_alone():
    pacer: Pacer[Packet] = Pacer(RATE)
    pacer.enqueue(frame(1, packets=2))
    pacer.enqueue(frame(2, packets=2, is_read=False))
    pacer.enqueue(frame(3, now_us=100_000))
    assert pacer.pop(now_us=0) is not None
    assert expired(pacer, now_us=201_000) == ["2.0", "2.1"]
    assert [p.name for _, p in leaving(pacer, now_us=201_000)] == ["1.1", "3.0"]


def test_a_key_frame_behind_a_late_frame_stays():
    pacer: Pacer[Packet] = Pacer(RATE)
    pacer.enqueue(frame(1, packets=2))
    pacer.enqueue(frame(2, now_us=100_000))
    pacer.enqueue(frame(3, now_us=100_000, key=True))
    pacer.enqueue(frame(4, now_us=100_000))
    assert expired(pacer, now_us=201_000) == ["1.0", "1.1", "2.0"]
    assert [p.name for _, p in leaving(pacer, now_us=201_000)] == ["3.0", "4.0"]


def test_old_repairs_are_given_up():
    # A packet takes 80 ms.
    pacer: Pacer[Packet] = Pacer(RATE // 10)
    pacer.enqueue([Packet(f"r{i}", RETRANSMISSION, stream=2) for i in range(4)])
    pacer.enqueue([Packet("f", FEC), *frame(1)])
    pacer.enqueue(frame(2, now_us=120_000, key=True))
    pacer.enqueue([Packet("g", FEC, frame_id=2, enqueued_us=120_000)])
    # The second retransmission would leave 200 ms after it came, frame 2 180 ms after it did.
    assert expired(pacer, now_us=120_000) == ["r2", "r3", "1.0"]
    assert expired(pacer, now_us=201_000) == ["r0", "r1", "f"]
    assert [p.name for _, p in leaving(pacer, now_us=201_000)] == ["2.0", "g"]


def test_repairs_do_not_delay_the_frame_that_makes_them_useless():
    pacer: Pacer[Packet] = Pacer(RATE)
    repairs = [Packet(f"r{i}", RETRANSMISSION, frame_id=i) for i in range(1, 6)]
    other = Packet("other", RETRANSMISSION, frame_id=1, stream=2)
    assert pacer.enqueue([*repairs, other, *frame(4)]) == []
    assert pacer.queued_bytes == 7 * SIZE
    superseded = pacer.enqueue(frame(5, packets=2, key=True))
    assert [p.name for p in superseded] == ["r1", "r2", "r3", "r4"]
    names = [p.name for _, p in leaving(pacer)]
    assert names == ["r5", "other", "4.0", "5.0", "5.1"]


def test_room_is_what_delays_no_frame_beyond_the_bound():
    pacer: Pacer[Packet] = Pacer(RATE)
    assert pacer.room_bytes(now_us=0) == MAX_WAIT_US * RATE // 8_000_000
    pacer.enqueue(frame(1, packets=10))
    # A frame that came now would wait for 80 ms.
    room_bytes = pacer.room_bytes(now_us=0)
    assert room_bytes == 15 * SIZE
    pacer.enqueue([Packet("r", RETRANSMISSION, size_bytes=room_bytes), *frame(2)])
    assert expired(pacer, now_us=0) == []
    assert pacer.room_bytes(now_us=0) == 0
    pacer.enqueue([Packet("r", RETRANSMISSION, size_bytes=SIZE)])
    assert expired(pacer, now_us=0) == ["2.0"]


def test_a_stream_that_ends_leaves_nothing_behind():
    pacer: Pacer[Packet] = Pacer(RATE)
    for stream in (1, 2):
        pacer.enqueue(frame(1, packets=3, stream=stream))
        pacer.enqueue([Packet("r", RETRANSMISSION, stream=stream)])
    pacer.remove_stream(1)
    assert pacer.queued_bytes == 4 * SIZE
    assert {p.stream for _, p in leaving(pacer)} == {2}
    assert pacer.queued_bytes == 0


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 60_000),
            st.integers(20_000, 3_000_000),
            st.sampled_from([MEDIA, MEDIA, MEDIA, RETRANSMISSION, FEC]),
            st.integers(1, 12),
            st.integers(60, 1300),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_nothing_is_lost_twice_held_too_long_or_sent_above_the_rate(steps):
    pacer: Pacer[Packet] = Pacer(RATE)
    now_us = sent = taken = given_packets = 0
    capacity_bits = 0.0
    sent_bits = 0
    highest = max((s[4] for s in steps), default=0) * 8
    for frame_id, (gap_us, rate_bps, kind, count, size, key) in enumerate(steps):
        pacer.set_rate(rate_bps, now_us=now_us)
        packets = frame(frame_id, packets=count, now_us=now_us, kind=kind, size_bytes=size, key=key)
        taken += len(pacer.enqueue(packets))
        given_packets += count
        taken += len(pacer.expire(now_us=now_us))
        assert pacer.expire(now_us=now_us) == []
        end_us = now_us + gap_us
        while True:
            while (packet := pacer.pop(now_us=now_us)) is not None:
                sent += 1
                sent_bits += 8 * packet.size_bytes
            due_us = pacer.free_us()
            if pacer.is_empty or due_us >= end_us:
                break
            assert due_us > now_us
            capacity_bits += rate_bps * (due_us - now_us) / 1e6
            now_us = due_us
        capacity_bits += rate_bps * (end_us - now_us) / 1e6
        now_us = end_us
        # One packet may be ahead, and what is due within a millisecond.
        assert sent_bits <= capacity_bits + highest + 3_000_000 * GROUP_US / 1e6
    left = leaving(pacer, now_us=now_us)
    assert sent + taken + len(left) == given_packets
    assert pacer.queued_bytes == 0


@pytest.mark.parametrize("rate_bps", [5_000, 100_000, 50_000_000])
def test_the_rate_is_kept_over_a_long_time(rate_bps):
    pacer: Pacer[Packet] = Pacer(rate_bps)
    pacer.enqueue(frame(1, packets=1000))
    last_us = leaving(pacer)[-1][0]
    expected_us = 999 * SIZE * 8_000_000 // rate_bps
    assert expected_us - GROUP_US - SIZE * 8_000_000 // rate_bps <= last_us <= expected_us + 1000
