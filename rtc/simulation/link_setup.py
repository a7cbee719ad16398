"""A scenario's link with its random numbers: the same in virtual time and in a live relay."""

from __future__ import annotations

import random
from collections.abc import Callable

from .link import Link
from .loss import loss_process
from .scenario import LinkScenario

Generator = Callable[[str], random.Random]
"""Gives a seeded generator for a name; different names are independent."""


def open_link(link: LinkScenario, *, sender: str, generator: Generator) -> Link:
    """The link that a peer's packets take. Raises LocalError for a loss that no burst allows.

    Losses and jitter draw from generators of their own, so that neither shifts the other.
    """
    return Link(
        rate=link.rate,
        loss=loss_process(link.loss, burst=link.burst, rng=generator(f"loss from {sender}")),
        settings=link.settings,
        rng=generator(f"jitter from {sender}"),
    )
