"""Which packets are lost on the way: independently, or in bursts."""

from __future__ import annotations

import random
from typing import Protocol

from ...codecs.errors import LocalError
from .steps import Steps


class Loss(Protocol):
    """One question a packet, in order of sending."""

    def lost(self, *, now_us: int) -> bool:
        """Whether the packet that is served at now_us is lost."""
        ...


class BernoulliLoss:
    """Each packet is lost with the same chance. A chance of 0 or 1 draws a number all the same."""

    def __init__(self, ratio: Steps[float], *, rng: random.Random) -> None:
        self._ratio = ratio
        self._rng = rng

    def lost(self, *, now_us: int) -> bool:
        """See Loss."""
        return self._rng.random() < self._ratio.at(now_us)


class GilbertElliottLoss:
    """Two states, good (nothing is lost) and bad (all is), left by chance before each packet.

    Gilbert, "Capacity of a burst-noise channel" (1960), in Elliott's notation with k = 1 and h = 0:
    bad lasts `burst` packets on average, and the chance to enter it makes the share of lost packets
    `ratio`. It begins good.
    """

    def __init__(self, ratio: Steps[float], *, burst: float, rng: random.Random) -> None:
        """Raises LocalError where no such chance exists: ratio is at most burst / (burst + 1)."""
        most = burst / (burst + 1)
        if max(ratio.values) > most:
            raise LocalError(
                f"loss {max(ratio.values):g} in bursts of {burst:g} is above {most:g}, "
                "which one packet between bursts leaves"
            )
        self._ratio = ratio
        self._leave = 1 / burst
        self._rng = rng
        self._bad = False

    def lost(self, *, now_us: int) -> bool:
        """See Loss."""
        draw = self._rng.random()
        if self._bad:
            self._bad = draw >= self._leave
        else:
            ratio = self._ratio.at(now_us)
            self._bad = draw < self._leave * ratio / (1 - ratio)
        return self._bad


def loss_process(ratio: Steps[float], *, burst: float, rng: random.Random) -> Loss:
    """Independent losses for a burst of 1, else bursts of that mean length. Raises LocalError."""
    if burst < 1:
        raise LocalError(f"burst {burst:g} is below 1 packet")
    if burst == 1:
        return BernoulliLoss(ratio, rng=rng)
    return GilbertElliottLoss(ratio, burst=burst, rng=rng)
