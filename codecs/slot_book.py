"""Who holds what in AV1's eight reference slots: the chain, the long-term pins, retries and drops.

Slots 0..3 are the chain: each frame reads the newest and writes the next. Slots 4..7 are the pins
of long-term references (LTR): written by LTR frames alone, so that a receiver that lost part of the
chain still holds one. The book speaks of what was sent; a try that was not sent has overwritten its
slots at the encoder alone, and the book lets no frame read such a slot.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import LocalError

SLOTS = 8
"""NUM_REF_FRAMES (AV1 specification, section 3)."""
CHAIN = (0, 1, 2, 3)
PINS = (4, 5, 6, 7)
"""Ours: four pins hold what a round trip of three LTR intervals may acknowledge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """What one frame reads and writes.

    reads and writes are slots; dependencies are the frame ids in the slots read. ltr_slot is the
    pin that names the frame as a long-term reference, None for other frames. A key frame is an LTR
    too, since it fills every pin.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    dependencies: tuple[int, ...]
    ltr_slot: int | None

    @property
    def key(self) -> bool:
        """Whether the frame reads nothing."""
        return not self.reads


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A sent frame in a slot; order counts sent frames, since frame ids may wrap."""

    frame_id: int
    order: int
    width: int
    height: int


class SlotBook:
    """The sender's book of the eight slots. Pure; one book for each stream."""

    def __init__(self) -> None:
        self._held: list[_Held | None] = [None] * SLOTS
        self._dirty: set[int] = set()
        self._tried: dict[int, tuple[int, int]] = {}
        self._newest = CHAIN[0]
        self._acknowledged: int | None = None
        self._sent = 0

    @property
    def needs_key(self) -> bool:
        """Whether only a key frame can come next: at the start, and after a key try was dropped."""
        return not self._readable(self._newest)

    @property
    def can_read_ltr(self) -> bool:
        """Whether an acknowledged LTR is still held at both sides."""
        return self._acknowledged is not None and self._readable(self._acknowledged)

    def plan(
        self, *, key: bool, ltr: bool = False, temporal_id: int = 0, from_ltr: bool = False
    ) -> References:
        """References of the next frame; changes nothing.

        ltr also pins the frame, temporal_id above 0 writes nothing, from_ltr reads the most
        recently acknowledged LTR alone and begins a new chain. Raises LocalError when the frame
        could read nothing, or when a frame that writes nothing is asked to be a key frame or LTR.
        """
        if temporal_id and (key or ltr or from_ltr):
            raise LocalError(
                f"temporal layer {temporal_id} writes no slot: no key, LTR or recovery"
            )
        if key:
            return References(reads=(), writes=CHAIN + PINS, dependencies=(), ltr_slot=PINS[0])
        read = self._read_slot(from_ltr=from_ltr)
        pin = self._oldest_pin() if ltr else None
        chain = (self._newest + 1) % len(CHAIN)
        writes = () if temporal_id else (chain,) if pin is None else (chain, pin)
        return References(
            reads=(read,), writes=writes, dependencies=self._frames((read,)), ltr_slot=pin
        )

    def tried(self, references: References, *, size: tuple[int, int] | None = None) -> None:
        """A try overwrote the slots at the encoder; unless it is sent, nobody may read them.

        size is the coded (width, height) in px of the try.
        """
        self._dirty.update(references.writes)
        if size is not None:
            self._tried.update(dict.fromkeys(references.writes, size))

    def sent(self, references: References, *, frame_id: int, width: int, height: int) -> None:
        """The last try was sent at this coded size: both sides hold it in the slots it writes."""
        self._sent += 1
        held = _Held(frame_id=frame_id, order=self._sent, width=width, height=height)
        for slot in references.writes:
            self._held[slot] = held
            self._dirty.discard(slot)
            self._tried.pop(slot, None)
        if references.key:
            self._newest, self._acknowledged = CHAIN[0], None
        elif references.writes:
            self._newest = references.writes[0]

    def acknowledge(self, frame_id: int) -> None:
        """The peer decoded this LTR. Unknown, evicted and older ones than the last are ignored."""
        for pin in PINS:
            held = self._held[pin]
            if held is None or held.frame_id != frame_id or pin in self._dirty:
                continue
            last = None if self._acknowledged is None else self._held[self._acknowledged]
            if last is None or held.order > last.order:
                self._acknowledged = pin

    def size_of(self, slot: int) -> tuple[int, int] | None:
        """Coded (width, height) in px of the frame both sides hold in the slot, None if none."""
        held = self._held[slot] if self._readable(slot) else None
        return None if held is None else (held.width, held.height)

    def encoder_size_of(self, slot: int) -> tuple[int, int] | None:
        """Coded size of what the encoder has in the slot: of a try that was not sent, if one was."""
        return self._tried.get(slot) or self.size_of(slot)

    def frame_in(self, slot: int) -> int | None:
        """Id of the frame both sides hold in the slot, None if none."""
        held = self._held[slot] if self._readable(slot) else None
        return None if held is None else held.frame_id

    def _readable(self, slot: int) -> bool:
        return self._held[slot] is not None and slot not in self._dirty

    def _read_slot(self, *, from_ltr: bool) -> int:
        if not from_ltr:
            if self.needs_key:
                raise LocalError("no slot is held by both sides: only a key frame can come next")
            return self._newest
        if self._acknowledged is None or not self.can_read_ltr:
            raise LocalError("no acknowledged LTR to read: only a key frame recovers")
        return self._acknowledged

    def _oldest_pin(self) -> int:
        """The pin to overwrite: unreadable ones first, never the most recently acknowledged."""

        def age(pin: int) -> tuple[bool, int]:
            held = self._held[pin]
            return self._readable(pin), 0 if held is None else held.order

        return min((pin for pin in PINS if pin != self._acknowledged), key=age)

    def _frames(self, slots: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(f for f in map(self.frame_in, slots) if f is not None)
