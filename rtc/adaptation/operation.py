"""What pictures are coded with: everything that adaptation decides together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...codecs.types import FULL_SIZE, Codec

DEFAULT_PRESET = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One way to code a stream. Compares by value.

    preset names a row of the AV1 table, "default" for H.264. Pictures are coded at no more than scale
    of their size; one of every captured pictures is sent.
    """

    codec: Codec
    preset: str = DEFAULT_PRESET
    scale: Fraction = FULL_SIZE
    every: int = 1
