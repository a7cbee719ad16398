"""What is known when an operation is to be chosen, and what a constraint is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Protocol

from ...codecs.types import FULL_SIZE
from .decisions import AdaptationReason, Refusal
from .operation import Operation
from .operations import codable_scale


class Step(Enum):
    """What an operation is looked at for; each asks for more than the one before."""

    KEEP = 0
    """It is in use."""
    LEAVE = 1
    """The one in use must be left."""
    IMPROVE = 2
    """It is better than the one in use, which may stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The stream now. size is the pictures' width and height within the application's limits.

    gap_us is the time between two captured pictures, interval_us between two that are sent;
    rate_scale is what the rate leaves of the size.
    """

    now_us: int
    used: Operation
    size: tuple[int, int]
    gap_us: int
    target_bps: int
    rate_every: int = 1
    rate_scale: Fraction = FULL_SIZE

    def scale(self, operation: Operation) -> Fraction:
        """At which fraction of the size pictures would be coded."""
        scale = min(operation.scale, self.rate_scale)
        return codable_scale(operation.codec, scale, size=self.size)

    def pixels(self, operation: Operation) -> int:
        """How many pixels of a picture would be coded, one at least."""
        width, height = self.size
        scale = self.scale(operation)
        return max(1, width * height * scale.numerator**2 // scale.denominator**2)

    def interval_us(self, operation: Operation) -> int:
        """The time between two pictures that would be sent."""
        return self.gap_us * max(operation.every, self.rate_every)


class Constraint(Protocol):
    """May veto operations; proposes none."""

    reason: AdaptationReason
    """What a decision is for where this makes the operation in use leave."""

    def refuses(
        self, operation: Operation, situation: Situation, step: Step, *, strictly: bool
    ) -> Refusal | None:
        """Why not this one; None where nothing speaks against it.

        strictly is False when nothing was left with it: a constraint that has a weaker form then
        uses that.
        """
        ...
