"""Numbers as people and TOML write them."""

from __future__ import annotations

import re
from fractions import Fraction

# ours: bounded in length and exponent, both well above what any value here needs and what repr() of
# a float gives. Fraction("1e400000000") would write out every digit and keep a processor for minutes.
_NUMBER = re.compile(
    r"[+-]?(\d{1,20}\.?\d{0,30}|\.\d{1,30})(e[+-]?\d{1,3})?|[+-]?\d{1,20}/\d{1,20}",
    re.ASCII | re.IGNORECASE,
)


def parse_number(text: str) -> Fraction:
    """30, 29.97, 1e-05 or 30000/1001, exactly. Raises ValueError for anything else."""
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError("not a number")
    try:
        return Fraction(text.strip())
    except ZeroDivisionError as error:
        raise ValueError("division by 0") from error
