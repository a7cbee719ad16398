from __future__ import annotations

from codecpilot.rtc.resilience.fec_plan import NO_FEC, FecPlan
from codecpilot.rtc.resilience.fec_protection import MAX_GROUPS, MAX_SPAN, FecProtection
from codecpilot.rtc.rtp.fec import fec_bits, recover
from codecpilot.rtc.rtp.packet import RtpPacket


def data(number: int) -> bytes:
    return RtpPacket(96, False, number, 1000, 7, bytes((number & 0xFF,)) * 20).serialize()


def frame(protection: FecProtection, first: int, packets: int):
    """A frame leaves; its FEC packets with their ids, which leave too."""
    due = []
    for number in range(first, first + packets):
        ends = number == first + packets - 1
        due += protection.left(number & 0xFFFF, data(number & 0xFFFF), ends_frame=ends)
    for fec_id, _ in due:
        protection.fec_left(fec_id, now_us=1000)
    return due


def protection(percent: int = 20, **plan: int) -> FecProtection:
    found = FecProtection(stamp_ids=())
    found.set_plan(FecPlan(percent=percent, **plan))
    return found


def test_a_frame_of_five_has_one_packet_that_gives_any_of_them_back():
    ((_, fec),) = frame(protection(), 65_533, 5)
    assert fec.sequence_numbers == (65_533, 65_534, 65_535, 0, 1)
    for lost in fec.sequence_numbers:
        present = {n: fec_bits(data(n), stamp_ids=()) for n in fec.sequence_numbers if n != lost}
        assert recover(fec, present) == data(lost)


def test_a_burst_takes_one_from_each_of_a_group_s_packets():
    found = protection(frames=2, max_frames=2, least=4)
    assert frame(found, 0, 5) == []
    groups = [set(fec.sequence_numbers) for _, fec in frame(found, 5, 5)]
    assert len(groups) == 4
    assert set.union(*groups) == set(range(10))
    for first in range(7):
        burst = set(range(first, first + 4))
        assert [len(group & burst) for group in groups] == [1, 1, 1, 1]


def test_small_frames_wait_for_others_and_then_go_without():
    found = protection(max_frames=3)
    assert frame(found, 0, 1) == []
    assert frame(found, 1, 1) == []
    assert len(frame(found, 2, 1)) == 1
    single = protection()
    assert all(frame(single, number, 2) == [] for number in range(0, 100, 2))


def test_a_long_frame_is_several_groups():
    due = frame(protection(), 0, 100)
    spans = [fec.sequence_numbers[-1] - fec.sequence_numbers[0] for _, fec in due]
    assert max(spans) < MAX_SPAN
    assert sorted(n for _, fec in due for n in fec.sequence_numbers) == list(range(100))


def test_one_lost_packet_is_covered_until_fec_or_another_is_lost_too():
    found = protection()
    ((fec_id, _),) = frame(found, 0, 5)
    assert found.media_reported(2, arrived=False) is None
    assert found.covers(2)
    assert found.fec_left_us(2) == 1000
    found.media_reported(3, arrived=False)
    assert not found.covers(2)
    found.media_reported(3, arrived=True)
    assert found.covers(2)
    found.fec_reported(fec_id, arrived=False)
    assert not found.covers(2)


def test_a_packet_is_given_back_for_certain_once_all_the_others_are_there():
    found = protection()
    ((fec_id, _),) = frame(found, 0, 3)
    assert found.fec_reported(fec_id, arrived=True) is None
    assert found.media_reported(0, arrived=True) is None
    assert found.media_reported(1, arrived=False) is None
    assert found.media_reported(2, arrived=True) == 1


def test_what_leaves_unprotected_is_not_covered():
    found = protection()
    found.set_plan(NO_FEC)
    assert not found.is_on
    assert not found.covers(5)
    found.set_plan(FecPlan(percent=20))
    found.left(6, data(6), ends_frame=False)
    assert found.covers(6)
    assert found.fec_left_us(6) is None
    found.set_plan(NO_FEC)
    assert not found.covers(6)


def test_memory_is_bounded():
    found = protection()
    for index in range(20_000):
        frame(found, 5 * index, 5)
    assert len(found) <= 5 * MAX_GROUPS
