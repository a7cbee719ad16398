from __future__ import annotations

import pytest

from codecpilot.rtc.resilience.delivered_frames import MAX_FRAMES, DeliveredFrames


class Frames(DeliveredFrames):
    """Each frame of two packets, reading the one before unless told otherwise."""

    def send(self, frame_id: int, *, reads: int | None = None, base: bool = True, restarts=False):
        reads = frame_id - 1 if reads is None else reads
        dependencies = () if restarts else (reads,)
        self.sent(frame_id, packets=2, dependencies=dependencies, is_base=base, restarts=restarts)

    def whole(self, frame_id: int) -> tuple[int, ...]:
        return self.arrived(frame_id, 0) + self.arrived(frame_id, 1)

    def lose(self, frame_id: int, index: int = 0) -> None:
        self.lost(frame_id, index, sequence_number=10 * frame_id + index, now_us=7)


@pytest.fixture
def frames() -> Frames:
    frames = Frames()
    frames.send(0, restarts=True)
    return frames


def test_a_frame_is_delivered_with_its_last_packet(frames):
    assert frames.arrived(0, 1) == ()
    assert frames.arrived(0, 1) == ()
    assert frames.arrived(0, 0) == (0,)
    assert frames.arrived(0, 0) == ()


def test_a_whole_frame_waits_for_what_it_depends_on(frames):
    for frame_id in (1, 2, 3):
        frames.send(frame_id)
    assert frames.whole(2) == frames.whole(3) == ()
    assert frames.whole(0) == (0,)
    assert frames.whole(1) == (1, 2, 3)


def test_a_frame_that_no_other_reads_delays_none_and_damages_nothing(frames):
    frames.whole(0)
    frames.send(1, base=False)
    frames.send(2, reads=0)
    frames.lose(1)
    assert not list(frames.damage)
    assert frames.whole(2) == (2,)


def test_damage_lasts_until_the_packet_comes_another_way(frames):
    frames.lose(0, 1)
    frames.lose(0, 1)
    (lost,) = frames.damage
    assert (lost.frame_id, lost.index, lost.sequence_number, lost.lost_us) == (0, 1, 1, 7)
    frames.arrived(0, 1)
    assert not list(frames.damage)
    frames.lose(0, 1)
    assert not list(frames.damage)


def test_what_was_not_there_before_a_restart_never_counts_as_delivered(frames):
    frames.whole(0)
    frames.send(1)
    frames.send(2)
    frames.lose(1)
    frames.send(3, restarts=True)
    assert not list(frames.damage)
    # The retransmission comes: but the receiver has gone on from 3.
    assert frames.whole(1) == frames.whole(2) == ()
    assert frames.whole(3) == (3,)
    frames.lose(1)
    assert not list(frames.damage)


def test_memory_is_bounded_where_no_feedback_comes(frames):
    for frame_id in range(1, 10_000):
        frames.send(frame_id)
        frames.lose(frame_id)
    damage = list(frames.damage)
    assert len(damage) == MAX_FRAMES
    assert damage[0].frame_id == 10_000 - MAX_FRAMES
