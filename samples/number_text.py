"""Numbers as people write them on a command line."""

from __future__ import annotations

import re
from fractions import Fraction

# Bounded in length: an exponent or a thousand digits would keep Fraction busy for minutes.
_NUMBER = re.compile(r"[+-]?\d{1,12}(\.\d{0,12})?|[+-]?\d{1,12}/\d{1,12}")


def fraction_from_text(text: str) -> Fraction:
    """30, 29.97 or 30000/1001. Raises ValueError for anything else."""
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is not a number")
    try:
        return Fraction(text.strip())
    except ZeroDivisionError as error:
        raise ValueError(f"{text!r} divides by 0") from error
