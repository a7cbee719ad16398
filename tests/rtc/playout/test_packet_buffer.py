from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecpilot.rtc.playout.packet_buffer import MAX_BYTES, MAX_PACKETS, MediaPacket, PacketBuffer


def packet(
    sequence: int, timestamp: int, *, marker=False, starts: bool | None = None, payload=b"x"
):
    return MediaPacket(
        sequence=sequence,
        timestamp=timestamp,
        payload_type=45,
        marker=marker,
        payload=payload,
        of_key=False,
        starts_frame=starts,
        descriptor=None,
        capture_wall_us=None,
        arrival_us=0,
    )


def frames(
    sizes: list[int], *, described: bool, first_sequence: int = 0
) -> list[list[MediaPacket]]:
    out = []
    sequence = first_sequence
    for index, size in enumerate(sizes):
        run = []
        for i in range(size):
            # Without a descriptor only the stream's first packet tells that it begins a frame.
            begins = i == 0 if described else (True if not out and i == 0 else None)
            run.append(packet(sequence, index * 3000, marker=i == size - 1, starts=begins))
            sequence += 1
        out.append(run)
    return out


def assembled(buffer: PacketBuffer, packets: list[MediaPacket]) -> list[list[int]]:
    out = []
    for p in packets:
        frame = buffer.insert(p)
        while frame is not None:
            out.append([q.sequence for q in frame])
            frame = buffer.next_frame(frame[-1].sequence)
    return out


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=12),
    seed=st.integers(0, 2**32),
    described=st.booleans(),
)
def test_any_order_with_duplicates_gives_every_frame_once(sizes, seed, described):
    runs = frames(sizes, described=described)
    packets = [p for run in runs for p in run] * 2
    random.Random(seed).shuffle(packets)
    got = assembled(PacketBuffer(), packets)
    unique = {tuple(f) for f in got}
    assert unique == {tuple(p.sequence for p in run) for run in runs}


@pytest.mark.parametrize("described", [True, False])
def test_a_frame_with_a_missing_packet_is_not_whole(described):
    runs = frames([3, 3], described=described)
    for lost in (0, 1, 2):
        buffer = PacketBuffer()
        packets = runs[0] + [p for i, p in enumerate(runs[1]) if i != lost]
        assert assembled(buffer, packets) == [[0, 1, 2]]
        assert assembled(buffer, [runs[1][lost]]) == [[3, 4, 5]]


def test_without_a_descriptor_a_frame_behind_a_gap_has_no_known_beginning():
    runs = frames([1, 1, 2], described=False)
    buffer = PacketBuffer()
    assert assembled(buffer, runs[0] + runs[2]) == [[0]]
    assert assembled(buffer, runs[1]) == [[1], [2, 3]]


def test_padding_between_frames_is_no_gap():
    buffer = PacketBuffer()
    assert assembled(buffer, [packet(0, 0, marker=True, starts=True)]) == [[0]]
    assert buffer.insert_padding(1) is None
    assert buffer.previous_of(2) == 0
    assert assembled(buffer, [packet(2, 3000, marker=True)]) == [[2]]


def test_padding_that_comes_last_releases_the_frame_behind_it():
    buffer = PacketBuffer()
    assembled(buffer, [packet(0, 0, marker=True, starts=True)])
    assert assembled(buffer, [packet(2, 3000, marker=True)]) == []
    released = buffer.insert_padding(1)
    assert released is not None
    assert [p.sequence for p in released] == [2]


def test_what_was_discarded_stays_away():
    buffer = PacketBuffer()
    buffer.insert(packet(5, 0, starts=True))
    buffer.discard_through(6)
    assert len(buffer) == 0
    assert buffer.insert(packet(6, 0, marker=True, starts=True)) is None
    assert len(buffer) == 0


def test_the_buffer_is_bounded():
    buffer = PacketBuffer()
    for sequence in range(0, 3 * MAX_PACKETS, 2):
        buffer.insert(packet(sequence, sequence))
    assert len(buffer) == MAX_PACKETS


def test_a_full_buffer_discards_the_oldest_packet_even_if_it_came_last():
    buffer = PacketBuffer()
    for sequence in range(10, 10 + 2 * MAX_PACKETS, 2):
        buffer.insert(packet(sequence, sequence))
    assert buffer.insert(packet(4, 4, marker=True, starts=True)) is None
    assert not buffer.has(4)
    assert len(buffer) == MAX_PACKETS


def test_the_buffer_is_bounded_in_bytes():
    buffer = PacketBuffer()
    payload = bytes(60_000)
    for sequence in range(100):
        buffer.insert(packet(sequence, 0, payload=payload))
    assert len(buffer) == MAX_BYTES // len(payload)
    assert buffer.has(99)
    assert not buffer.has(0)


@pytest.mark.parametrize("first", [True, None])
def test_work_does_not_grow_with_the_length_of_a_frame(first, monkeypatch):
    checks = []
    begins_frame = PacketBuffer._begins_frame
    monkeypatch.setattr(
        PacketBuffer, "_begins_frame", lambda *args: checks.append(1) or begins_frame(*args)
    )
    buffer, count = PacketBuffer(), 1000
    for sequence in range(count):
        assert buffer.insert(packet(sequence, 0, starts=first if not sequence else None)) is None
    taken = buffer.insert(packet(count, 0, marker=True))
    assert (taken is not None and len(taken) == count + 1) == (first is True)
    assert count <= len(checks) <= 4 * count
