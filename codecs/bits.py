"""Bit fields of headers, from the most significant bit on.

The codes are those of the AV1 specification (4.10); ue(v) of ITU-T H.264 (9.1) is its uvlc(), and the
AV1 RTP specification (A.8.2) takes f(n) and ns(n) from it.
"""

from __future__ import annotations

from .errors import LocalError, RemoteError

_UVLC_MAX = (1 << 32) - 1


class BitReader:
    """Reads fields of a byte string. Every read past the end raises RemoteError."""

    __slots__ = ("_left", "_value")

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "big")
        self._left = 8 * len(data)

    def read(self, count: int) -> int:
        """f(count): an unsigned number of count bits."""
        if count > self._left:
            raise RemoteError(f"cut off: a field of {count} bits where {self._left} are left")
        self._left -= count
        return self._value >> self._left & ((1 << count) - 1)

    def flag(self) -> bool:
        """f(1)."""
        return self.read(1) == 1

    def uvlc(self) -> int:
        """uvlc() (4.10.3): 2^32 - 1 for whatever begins with 32 zeros or more."""
        zeros = 0
        while not self.flag():
            zeros += 1
        return _UVLC_MAX if zeros >= 32 else self.read(zeros) + (1 << zeros) - 1

    def non_symmetric(self, values: int) -> int:
        """ns(values) (4.10.7): a number below values; the lower ones take a bit less."""
        width = values.bit_length()
        short_codes = (1 << width) - values
        value = self.read(width - 1)
        if value < short_codes:
            return value
        return (value << 1) - short_codes + self.read(1)


class BitWriter:
    """Collects fields. Every method raises LocalError for a value that its field cannot carry."""

    __slots__ = ("_count", "_value")

    def __init__(self) -> None:
        self._value = 0
        self._count = 0

    def write(self, value: int, count: int) -> None:
        """f(n)."""
        if not 0 <= value < 1 << count:
            raise LocalError(f"{value} does not fit {count} bits")
        self._value = self._value << count | value
        self._count += count

    def write_non_symmetric(self, value: int, values: int) -> None:
        """ns(n)."""
        if not 0 <= value < values:
            raise LocalError(f"{value} is outside 0..{values - 1}")
        width = values.bit_length()
        short_codes = (1 << width) - values
        if value < short_codes:
            self.write(value, width - 1)
        else:
            self.write(value + short_codes, width)

    def to_bytes(self) -> bytes:
        """What was written, with zero bits up to a whole byte."""
        padding = -self._count % 8
        return (self._value << padding).to_bytes((self._count + padding) // 8, "big")
