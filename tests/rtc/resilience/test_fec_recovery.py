from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecpilot.rtc.resilience.fec_recovery import (
    MAX_FEC,
    MAX_MEDIA,
    MAX_MEDIA_BYTES,
    MAX_WAIT_US,
    NOTHING,
    TIMED_US,
    FecRecovery,
)
from codecpilot.rtc.rtp.fec import FecPacket, protect
from codecpilot.rtc.rtp.packet import RtpPacket
from codecpilot.rtc.stats import InboundCounters

SSRC = 7


def packets(count: int, *, first: int = 65_530) -> dict[int, bytes]:
    """Packets of different lengths by their numbers."""
    rng = random.Random(first)
    numbers = [(first + i) & 0xFFFF for i in range(count)]
    return {
        n: RtpPacket(45, i % 5 == 4, n, 3000 * i, SSRC, rng.randbytes(10 + 7 * i % 50)).serialize()
        for i, n in enumerate(numbers)
    }


def over(media: dict[int, bytes], *indices: int) -> FecPacket:
    sent = list(media.values())
    return protect([sent[i] for i in indices], stamp_ids=())


def store() -> tuple[FecRecovery, InboundCounters]:
    counters = InboundCounters()
    return FecRecovery(stamp_ids=(), counters=counters), counters


def test_a_lost_packet_comes_back_with_the_fec_packet():
    media = packets(5)
    recovery, counters = store()
    for number in list(media)[:2] + list(media)[3:]:
        assert recovery.media(number, media[number], now_us=0) == NOTHING
    found = recovery.parity(over(media, 0, 1, 2, 3, 4), now_us=0)
    assert found.recovered == (list(media.values())[2],)
    assert found.unrecovered == ()
    assert (counters.fecPacketsRecovered, counters.fecPacketsDiscarded) == (1, 0)


def test_an_fec_packet_that_comes_first_waits_for_all_but_one():
    media = packets(4)
    recovery, counters = store()
    numbers = list(media)
    assert set(recovery.parity(over(media, 0, 1, 2, 3), now_us=0).unrecovered) == set(numbers)
    for number in numbers[:2]:
        assert recovery.media(number, media[number], now_us=0) == NOTHING
    found = recovery.media(numbers[3], media[numbers[3]], now_us=0)
    assert found.recovered == (media[numbers[2]],)
    assert len(recovery) == 4
    assert counters.fecPacketsRecovered == 1


def test_what_was_recovered_helps_to_recover_more():
    media = packets(6)
    numbers = list(media)
    recovery, counters = store()
    # A rectangle: rows 0 1 2 and 3 4 5, columns 0 3, 1 4 and 2 5; 0, 1 and 3 are lost.
    for index in (2, 4, 5):
        recovery.media(numbers[index], media[numbers[index]], now_us=0)
    assert recovery.parity(over(media, 0, 1, 2), now_us=0).recovered == ()
    assert recovery.parity(over(media, 0, 3), now_us=0).recovered == ()
    found = recovery.parity(over(media, 3, 4, 5), now_us=0)
    assert set(found.recovered) == {media[numbers[i]] for i in (3, 0, 1)}
    assert counters.fecPacketsRecovered == 3


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_in_any_order_everything_that_parity_determines_comes_back_as_it_was(data):
    count = data.draw(st.integers(2, 12))
    media = packets(count)
    groups = data.draw(
        st.lists(st.sets(st.integers(0, count - 1), min_size=1), min_size=1, max_size=6)
    )
    lost = data.draw(st.sets(st.integers(0, count - 1)))
    numbers = list(media)
    arrivals: list[int | FecPacket] = [numbers[i] for i in range(count) if i not in lost]
    arrivals += [over(media, *sorted(group)) for group in groups]
    recovery, counters = store()
    got: dict[int, bytes] = {}
    for arrival in data.draw(st.permutations(arrivals)):
        if isinstance(arrival, FecPacket):
            found = recovery.parity(arrival, now_us=0)
        else:
            got[arrival] = media[arrival]
            found = recovery.media(arrival, media[arrival], now_us=0)
        for packet in found.recovered:
            got.setdefault(int.from_bytes(packet[2:4], "big"), packet)
    assert all(media[number] == packet for number, packet in got.items())
    known = {i for i in range(count) if i not in lost}
    while grown := [g - known for g in groups if len(g - known) == 1]:
        known |= grown[0]
    assert set(got) == {numbers[i] for i in known}
    waiting = counters.fecPacketsDiscarded + counters.fecPacketsRecovered
    assert waiting <= len(groups)


def test_fec_over_what_all_arrived_is_discarded():
    media = packets(3)
    recovery, counters = store()
    for number, data in media.items():
        recovery.media(number, data, now_us=0)
    assert recovery.parity(over(media, 0, 1, 2), now_us=0) == NOTHING
    assert counters.fecPacketsDiscarded == 1
    assert len(recovery) == 3


@pytest.mark.parametrize("parity", [b"\xff" * 60, b"", b"\x00" * 8, bytes(8) + b"\x07" * 1000])
def test_parity_that_lies_gives_nothing_and_is_counted(parity):
    media = packets(3)
    numbers = list(media)
    recovery, counters = store()
    recovery.media(numbers[0], media[numbers[0]], now_us=0)
    recovery.media(numbers[1], media[numbers[1]], now_us=0)
    # What stays in force is that one packet is recovered at most, and that nothing raises.
    if len(parity) < 8:
        parity = b"\x3f" * 8
    found = recovery.parity(replace(over(media, 0, 1, 2), parity=parity), now_us=0)
    assert len(found.recovered) + counters.malformedRtp == 1
    assert counters.fecPacketsDiscarded == counters.malformedRtp


def test_a_flood_of_fec_is_bounded_in_memory_and_work():
    recovery, counters = store()
    media = packets(109, first=100)
    numbers = list(media)
    for number in numbers[:100]:
        recovery.media(number, media[number], now_us=0)
    parity = over(media, *range(109))
    started = time.process_time()
    for _ in range(5000):
        recovery.parity(parity, now_us=0)
    assert time.process_time() - started < 2
    assert len(recovery) == 100 + MAX_FEC
    assert counters.fecPacketsDiscarded == 5000 - MAX_FEC
    # When the rest comes all of them are answered at once, by one packet.
    recovered = [recovery.media(n, media[n], now_us=0).recovered for n in numbers[100:108]]
    assert [len(r) for r in recovered] == [0] * 7 + [1]
    assert counters.fecPacketsRecovered == 1
    assert counters.fecPacketsDiscarded == 5000 - 1


def test_media_is_bounded_in_packets_and_bytes():
    recovery, _ = store()
    for number in range(2 * MAX_MEDIA):
        recovery.media(number, bytes(12), now_us=0)
    assert len(recovery) == MAX_MEDIA
    recovery, _ = store()
    for number in range(200):
        recovery.media(number, bytes(60_000), now_us=0)
    assert len(recovery) == MAX_MEDIA_BYTES // 60_000


def test_numbers_that_come_again_for_other_packets_meet_no_old_fec():
    old = packets(3, first=0)
    recovery, counters = store()
    recovery.media(0, old[0], now_us=0)
    recovery.parity(over(old, 0, 1, 2), now_us=0)
    for number in range(3, MAX_MEDIA + 10):
        recovery.media(number, bytes(12), now_us=0)
    assert recovery.media(1, old[1], now_us=0) == NOTHING
    assert counters.fecPacketsDiscarded == 1
    assert counters.fecPacketsRecovered == 0


def test_media_that_left_the_store_is_not_recovered_from():
    media = packets(3, first=0)
    recovery, counters = store()
    recovery.media(0, media[0], now_us=0)
    for number in range(1000, 1000 + MAX_MEDIA - 1):
        recovery.media(number, bytes(12), now_us=0)
    recovery.parity(over(media, 0, 1, 2), now_us=0)
    recovery.media(5000, bytes(12), now_us=0)  # the first packet leaves
    assert recovery.media(1, media[1], now_us=0) == NOTHING
    assert (counters.fecPacketsRecovered, counters.fecPacketsDiscarded) == (0, 1)


def timed(*, delay_us: int, every: int = 1, groups: int = 6) -> FecRecovery:
    """A store of groups of four packets, of which one in `every` had FEC that long after its first packet."""
    recovery, _ = store()
    for group in range(groups):
        media = packets(4, first=4 * group)
        for number, data in media.items():
            recovery.media(number, data, now_us=100_000 * group)
        if group % every == 0:
            recovery.parity(over(media, 0, 1, 2, 3), now_us=100_000 * group + delay_us)
    return recovery


def test_how_long_fec_takes_is_learnt_from_the_fec_that_came():
    assert store()[0].wait_us(0) == 0
    recovery = timed(delay_us=20_000)
    last_us = 500_000 + 20_000
    assert recovery.wait_us(last_us) == 20_000
    assert recovery.wait_us(last_us + TIMED_US) == 20_000
    assert recovery.wait_us(last_us + TIMED_US + 1) == 0


@pytest.mark.parametrize(("delay_us", "waits"), [(MAX_WAIT_US, True), (MAX_WAIT_US + 1, False)])
def test_fec_that_takes_long_is_not_waited_for(delay_us, waits):
    assert timed(delay_us=delay_us).wait_us(600_000) == (delay_us if waits else 0)


@pytest.mark.parametrize(("every", "waits"), [(1, True), (2, True), (6, False)])
def test_fec_that_covers_little_is_not_waited_for(every, waits):
    assert timed(delay_us=10_000, every=every, groups=13).wait_us(1_300_000) == 10_000 * waits
