"""Bit fields from the most significant bit on, with the non-symmetric code of AV1 RTP A.8.2."""

from __future__ import annotations

from codecpilot.codecs.errors import LocalError, RemoteError


class BitReader:
    """Reads fields of a byte string. Every method raises RemoteError at its end."""

    __slots__ = ("_left", "_value")

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "big")
        self._left = 8 * len(data)

    def read(self, count: int) -> int:
        """f(n): an unsigned number of count bits."""
        self._left -= count
        if self._left < 0:
            raise RemoteError(f"a field of {count} bits runs past its end by {-self._left}")
        return self._value >> self._left & ((1 << count) - 1)

    def flag(self) -> bool:
        """One bit."""
        return self.read(1) == 1

    def non_symmetric(self, values: int) -> int:
        """ns(n): one of `values` numbers from 0 on; the lower ones take a bit less."""
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
