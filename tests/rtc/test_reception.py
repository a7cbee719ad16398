from __future__ import annotations

import pytest

from codecpilot.rtc.reception import Reception


def receive(reception: Reception, *sequences: int) -> None:
    for sequence in sequences:
        reception.packet(sequence=sequence, timestamp=sequence * 3000, now_us=sequence * 33_333)


def test_a_report_counts_the_losses_of_its_interval():
    reception = Reception(ssrc=5)
    receive(reception, 100, 101, 103)
    block = reception.report(now_us=0)
    assert (block.ssrc, block.packets_lost, block.fraction_lost) == (5, 1, 256 // 4)
    receive(reception, 104, 105)
    block = reception.report(now_us=0)
    assert (block.packets_lost, block.fraction_lost) == (1, 0)


def test_a_late_packet_lessens_the_loss_and_never_makes_a_fraction_negative():
    reception = Reception(ssrc=5)
    receive(reception, 1, 3)
    reception.report(now_us=0)
    receive(reception, 2, 2)
    block = reception.report(now_us=0)
    assert (block.packets_lost, block.fraction_lost) == (-1, 0)


def test_the_highest_number_carries_its_cycles():
    reception = Reception(ssrc=5)
    receive(reception, 65_535, 65_537)
    assert reception.report(now_us=0).highest_sequence == 65_537


def test_even_arrivals_have_no_jitter_and_uneven_ones_approach_their_mean():
    even = Reception(ssrc=5)
    receive(even, *range(100))
    assert even.jitter <= 1
    uneven = Reception(ssrc=5)
    for i in range(500):
        late_us = 10_000 if i % 2 else 0
        uneven.packet(sequence=i, timestamp=i * 3000, now_us=i * 33_333 + late_us)
    # Every transit differs by 10 ms from the one before: 900 units of 90 kHz.
    assert uneven.jitter == pytest.approx(900, rel=0.03)


def test_packets_of_one_frame_count_for_jitter_once():
    reception = Reception(ssrc=5)
    for i in range(300):
        reception.packet(sequence=i, timestamp=i // 3 * 3000, now_us=i // 3 * 33_333 + i % 3 * 900)
    assert reception.jitter <= 1


def test_the_last_sender_report_is_echoed_with_its_age():
    reception = Reception(ssrc=5)
    receive(reception, 1)
    assert reception.report(now_us=7).last_sr == 0
    reception.sender_report(ntp_timestamp=0x1122_3344_5566_7788, now_us=1_000_000)
    block = reception.report(now_us=1_500_000)
    assert block.last_sr == 0x3344_5566
    assert block.delay_since_last_sr == 1 << 15
