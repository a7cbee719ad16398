"""Counters that wrap on the wire (sequence numbers, timestamps, frame numbers), made endless."""

from __future__ import annotations

from codecpilot.codecs.errors import LocalError


class Unwrapper:
    """Maps values of a `bits` wide counter to the integer nearest to the last one unwrapped.

    The first value stands for itself, so values that are older than it may come out negative.
    Exactly half the range away counts as newer.
    """

    __slots__ = ("_half", "_last", "_mask")

    def __init__(self, bits: int) -> None:
        if bits < 1:
            raise LocalError(f"a counter of {bits} bits does not exist, 1 or more expected")
        self._mask = (1 << bits) - 1
        self._half = 1 << (bits - 1)
        self._last: int | None = None

    def peek(self, value: int) -> int:
        """What unwrap would return, without moving the reference."""
        if self._last is None:
            return value & self._mask
        ahead = (value - self._last) & self._mask
        if ahead > self._half:
            ahead -= self._mask + 1
        return self._last + ahead

    def unwrap(self, value: int) -> int:
        """The endless number of value; the next one is sought near it."""
        self._last = self.peek(value)
        return self._last
