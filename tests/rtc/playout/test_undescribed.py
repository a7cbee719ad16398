from __future__ import annotations

from codecpilot.rtc.playout.dependencies import MAX_WAITING, MAX_WAITING_BYTES
from codecpilot.rtc.playout.packet_buffer import MediaPacket
from codecpilot.rtc.playout.undescribed import UndescribedFrames


def frame(sequence: int, *, payload: bytes = b"x") -> list[MediaPacket]:
    packet = MediaPacket(
        sequence=sequence,
        timestamp=0,
        payload_type=45,
        marker=True,
        payload=payload,
        of_key=False,
        starts_frame=True,
        descriptor=b"",
        capture_wall_us=None,
        arrival_us=0,
    )
    return [packet]


def test_frames_come_out_once_in_the_order_they_went_in():
    frames = UndescribedFrames()
    frames.add(frame(1))
    frames.add(frame(2))
    assert [packets[0].sequence for packets in frames.take_all()] == [1, 2]
    assert frames.take_all() == []


def test_the_oldest_of_too_many_go():
    frames = UndescribedFrames()
    for sequence in range(MAX_WAITING + 3):
        frames.add(frame(sequence))
    held = [packets[0].sequence for packets in frames.take_all()]
    assert held == list(range(3, MAX_WAITING + 3))


def test_the_oldest_of_too_large_ones_go_and_room_is_counted_anew():
    frames = UndescribedFrames()
    for _ in range(2):
        for sequence in range(4):
            frames.add(frame(sequence, payload=bytes(MAX_WAITING_BYTES // 2)))
        assert len(frames) == 2
        assert [packets[0].sequence for packets in frames.take_all()] == [2, 3]
