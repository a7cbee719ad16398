"""Links drawn at random; a seed gives the same link each time."""

from __future__ import annotations

import math
from random import Random

from codecpilot.rtc.simulation.rate import StepRate

from .network import rate_steps

END_KBPS = 500


def falling(seed: int, *, seconds: float) -> StepRate:
    """500 to 2000 kbps for 2 to 8 s, then an eighth to a third of it for half a second to 3 s."""
    random, at_s, steps = Random(seed), 0.0, []
    while at_s < seconds:
        kbps = random.uniform(500, 2_000)
        steps.append((at_s, kbps))
        at_s += random.uniform(2, 8)
        steps.append((at_s, kbps / random.uniform(3, 8)))
        at_s += random.uniform(0.5, 3)
    return rate_steps(*steps, (at_s, END_KBPS))


def walking(seed: int, *, seconds: float, step: float = 0.1) -> StepRate:
    """About 300 to 2000 kbps; a random walk of the logarithm, every fifth of a second."""
    random = Random(seed)
    mean = at = math.log(random.uniform(300, 2_000))
    steps = []
    for count in range(round(5 * seconds)):
        steps.append((count / 5, math.exp(at)))
        at += random.gauss(0, step) + 0.03 * (mean - at)
    return rate_steps(*steps)
