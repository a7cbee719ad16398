"""The slot book never lets a frame read a slot that the two sides hold differently."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.slot_book import CHAIN, PINS, References, SlotBook

SIZE = {"width": 320, "height": 180}


def send(book: SlotBook, frame_id: int, **plan: object) -> References:
    references = book.plan(**{"key": False, **plan})  # type: ignore[arg-type]
    book.tried(references)
    book.sent(references, frame_id=frame_id, **SIZE)
    return references


def started() -> SlotBook:
    book = SlotBook()
    send(book, 0, key=True)
    return book


def test_a_new_book_needs_a_key_frame_which_fills_every_slot() -> None:
    book = SlotBook()
    assert book.needs_key
    with pytest.raises(LocalError, match="only a key frame"):
        book.plan(key=False)
    references = send(book, 7, key=True)
    assert references.key
    assert references.reads == references.dependencies == ()
    assert sorted(references.writes) == list(range(8))
    assert not book.needs_key
    assert [book.frame_in(slot) for slot in range(8)] == [7] * 8
    assert book.size_of(3) == (320, 180)


def test_each_frame_reads_the_newest_and_writes_the_next_chain_slot() -> None:
    book = started()
    for frame_id in range(1, 10):
        references = send(book, frame_id)
        assert references.reads == ((frame_id - 1) % 4,)
        assert references.writes == (frame_id % 4,)
        assert references.dependencies == (frame_id - 1,)
        assert references.ltr_slot is None


def test_planning_changes_nothing() -> None:
    book = started()
    assert book.plan(key=False, ltr=True) == book.plan(key=False, ltr=True)
    assert book.frame_in(1) == 0


def test_a_frame_of_the_upper_layer_writes_nothing_and_is_never_read() -> None:
    book = started()
    upper = send(book, 1, temporal_id=1)
    assert (upper.reads, upper.writes, upper.dependencies) == ((0,), (), (0,))
    assert send(book, 2).dependencies == (0,)


@pytest.mark.parametrize("asked", [{"key": True}, {"ltr": True}, {"from_ltr": True}])
def test_an_upper_layer_frame_is_no_key_ltr_or_recovery_frame(asked: dict[str, bool]) -> None:
    with pytest.raises(LocalError, match="temporal layer 1 writes no slot"):
        started().plan(**{"key": False, **asked}, temporal_id=1)


def test_a_try_that_was_not_sent_leaves_its_slots_unreadable() -> None:
    book = started()
    dropped = book.plan(key=False, ltr=True)
    book.tried(dropped)
    assert [book.frame_in(slot) for slot in dropped.writes] == [None, None]
    assert [book.size_of(slot) for slot in dropped.writes] == [None, None]
    after = send(book, 2)
    assert after.dependencies == (0,)
    assert book.frame_in(after.writes[0]) == 2


def test_a_dropped_key_try_leaves_only_another_key_frame() -> None:
    book = started()
    send(book, 1, ltr=True)
    book.acknowledge(1)
    book.tried(book.plan(key=True))
    assert book.needs_key
    assert not book.can_read_ltr
    with pytest.raises(LocalError):
        book.plan(key=False)
    with pytest.raises(LocalError):
        book.plan(key=False, from_ltr=True)
    send(book, 3, key=True)
    assert not book.needs_key


def test_recovery_reads_the_most_recently_acknowledged_ltr_alone_and_begins_a_new_chain() -> None:
    book = started()
    send(book, 1, ltr=True)
    send(book, 2, ltr=True)
    send(book, 3)
    with pytest.raises(LocalError, match="no acknowledged LTR"):
        book.plan(key=False, from_ltr=True)
    book.acknowledge(2)
    book.acknowledge(1)
    recovery = send(book, 4, from_ltr=True)
    assert recovery.dependencies == (2,)
    assert recovery.reads[0] in PINS
    assert send(book, 5).dependencies == (4,)


def test_a_key_frame_is_an_ltr_once_acknowledged() -> None:
    book = SlotBook()
    assert send(book, 0, key=True).ltr_slot in PINS
    assert not book.can_read_ltr
    book.acknowledge(0)
    assert book.can_read_ltr
    send(book, 1)
    assert send(book, 2, from_ltr=True).dependencies == (0,)


def test_a_key_frame_forgets_what_was_acknowledged_before_it() -> None:
    book = started()
    send(book, 1, ltr=True)
    book.acknowledge(1)
    send(book, 2, key=True)
    assert not book.can_read_ltr
    book.acknowledge(1)
    assert not book.can_read_ltr
    book.acknowledge(2)
    assert book.can_read_ltr


def test_the_oldest_pin_goes_but_never_the_most_recently_acknowledged() -> None:
    book = started()
    first = [send(book, frame_id, ltr=True).ltr_slot for frame_id in (1, 2, 3, 4)]
    assert sorted(s for s in first if s is not None) == list(PINS)
    book.acknowledge(1)
    later = [send(book, frame_id, ltr=True).ltr_slot for frame_id in (5, 6, 7, 8)]
    assert later == [first[1], first[2], first[3], first[1]]
    assert send(book, 9, from_ltr=True).dependencies == (1,)


def test_a_pin_that_a_dropped_try_spoiled_is_the_next_to_be_written() -> None:
    book = started()
    for frame_id in (1, 2, 3, 4):
        send(book, frame_id, ltr=True)
    dropped = book.plan(key=False, ltr=True)
    book.tried(dropped)
    assert book.plan(key=False, ltr=True).ltr_slot == dropped.ltr_slot


def test_a_late_acknowledgement_of_a_spoiled_pin_does_not_displace_a_readable_one() -> None:
    book = started()
    for frame_id in (1, 2, 3, 4):
        send(book, frame_id, ltr=True)
    book.acknowledge(1)
    book.tried(book.plan(key=False, ltr=True))
    book.acknowledge(2)
    assert send(book, 6, from_ltr=True).dependencies == (1,)


def test_acknowledging_unknown_or_evicted_frames_is_ignored() -> None:
    book = started()
    for frame_id in range(1, 6):
        send(book, frame_id, ltr=True)
    for frame_id in (0, 1, 99, -3):
        book.acknowledge(frame_id)
    assert not book.can_read_ltr


class BookAndReceiver(RuleBasedStateMachine):
    """A receiver's slots, filled by sent frames alone, always hold what the next frame reads."""

    def __init__(self) -> None:
        super().__init__()
        self.book = SlotBook()
        self.encoder: list[int | None] = [None] * 8
        self.receiver: list[int | None] = [None] * 8
        self.next_id = 0
        self.ltrs: list[int] = []

    @initialize()
    def start(self) -> None:
        self.frame(kind="key", tries=1, drop=False)

    @rule(
        kind=st.sampled_from(["key", "normal", "ltr", "upper", "recovery", "recovery ltr"]),
        tries=st.integers(1, 3),
        drop=st.booleans(),
    )
    def frame(self, kind: str, tries: int, drop: bool) -> None:
        if self.book.needs_key:
            kind = "key"
        if "recovery" in kind and not self.book.can_read_ltr:
            return
        references = self.book.plan(
            key=kind == "key",
            ltr="ltr" in kind,
            temporal_id=int(kind == "upper"),
            from_ltr="recovery" in kind,
        )
        frame_id, self.next_id = self.next_id, self.next_id + 1
        assert not set(references.reads) & set(references.writes)
        for slot, expected in zip(references.reads, references.dependencies, strict=True):
            assert self.receiver[slot] == self.encoder[slot] == expected
        for attempt in range(tries):
            self.book.tried(references)
            for slot in references.writes:
                self.encoder[slot] = -(frame_id * 10 + attempt) - 1
        if drop:
            return
        self.book.sent(references, frame_id=frame_id, **SIZE)
        for slot in references.writes:
            self.encoder[slot] = self.receiver[slot] = frame_id
        if references.key:
            self.ltrs.clear()
        if references.ltr_slot is not None:
            assert references.ltr_slot in references.writes
            self.ltrs.append(frame_id)

    @precondition(lambda self: self.ltrs)
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        self.book.acknowledge(data.draw(st.sampled_from(self.ltrs)))

    @invariant()
    def the_book_tells_what_both_sides_hold(self) -> None:
        for slot in range(8):
            agreed = self.encoder[slot] == self.receiver[slot]
            assert self.book.frame_in(slot) == (self.receiver[slot] if agreed else None)
            assert (self.book.size_of(slot) is None) == (self.book.frame_in(slot) is None)

    @invariant()
    def an_acknowledged_ltr_can_be_read_until_a_key_frame_replaces_it(self) -> None:
        if self.book.can_read_ltr:
            read = self.book.plan(key=False, from_ltr=True).reads[0]
            assert read in PINS
            assert read not in CHAIN
            assert self.receiver[read] in self.ltrs


TestBookAndReceiver = BookAndReceiver.TestCase
TestBookAndReceiver.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
