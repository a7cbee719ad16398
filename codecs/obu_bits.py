"""Reads the bit fields of AV1 headers (AV1 specification, 4.10)."""

from __future__ import annotations

from .errors import RemoteError


class BitReader:
    """Most significant bit first. Every read past the end raises RemoteError."""

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "big")
        self._left = len(data) * 8

    def bits(self, count: int) -> int:
        """f(count)."""
        if count > self._left:
            raise RemoteError(f"header cut off: {count} bits wanted, {self._left} left")
        self._left -= count
        return self._value >> self._left & ((1 << count) - 1)

    def flag(self) -> bool:
        """f(1)."""
        return bool(self.bits(1))

    def uvlc(self) -> int:
        """uvlc() (4.10.3)."""
        zeros = 0
        while not self.flag():
            zeros += 1
        return (1 << 32) - 1 if zeros >= 32 else self.bits(zeros) + (1 << zeros) - 1

    def below(self, limit: int) -> int:
        """ns(limit) (4.10.7): a number below limit."""
        width = limit.bit_length()
        short = (1 << width) - limit
        value = self.bits(width - 1)
        return value if value < short else (value << 1) - short + self.bits(1)
