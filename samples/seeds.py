"""Random numbers of a seed, the same in a simulated and a live call."""

from __future__ import annotations

import random

from ..rtc.simulation.link_setup import Generator


def seeded(seed: int) -> Generator:
    """Gives each name a generator of its own."""
    return lambda name: random.Random(f"{seed} {name}")
