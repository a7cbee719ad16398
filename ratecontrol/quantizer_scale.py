"""The quantizer scale 0..63 and what its steps mean: log2 of the quantizer's step size.

Bits fall by nearly a straight line in log2 of the step size, and not in the quantizer's number, whose
steps widen at both ends.
"""

from __future__ import annotations

import math
from bisect import bisect_right

QUANTIZER_MAX = 63

# AV1 specification, section 7.12.2 (Ac_Qlookup, 8 bits), at the indices that libaom's
# quantizer_to_qindex gives for 0..63.
_STEPS = (
    *(4, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47, 51, 55, 59, 63, 67, 71, 75, 79, 83, 87, 91),
    *(95, 99, 104, 112, 120, 128, 136, 144, 152, 164, 176, 188, 200, 215, 231, 247, 265, 285),
    *(305, 329, 353, 380, 408, 440, 474, 510, 550, 593, 639, 689, 743, 801, 864, 933, 1007),
    *(1087, 1173, 1267, 1369, 1479, 1628, 1828),
)
_COARSENESS = tuple(math.log2(step) for step in _STEPS)


def coarseness(quantizer: int) -> float:
    """log2 of the step size of a quantizer 0..63."""
    return _COARSENESS[quantizer]


def quantizer_at(wanted: float) -> float:
    """The quantizer of this coarseness, between two steps as a fraction, clamped to 0..63."""
    if wanted <= _COARSENESS[0]:
        return 0.0
    if wanted >= _COARSENESS[-1]:
        return float(QUANTIZER_MAX)
    index = bisect_right(_COARSENESS, wanted) - 1
    low, high = _COARSENESS[index], _COARSENESS[index + 1]
    return index + (wanted - low) / (high - low)
