"""The device's own constraint: frames are to be encoded well within the time from one to the next."""

from __future__ import annotations

import math

from .decisions import AdaptationReason, Refusal
from .encode_cost import EncodeCosts
from .encode_load import EncodeLoad
from .operation import Operation
from .situation import Situation, Step

# Ours: what an operation is expected to take of the frame interval where another had to be left. Between this
# and libwebrtc's 85 % nothing moves.
FIT_RATIO = 0.65
# Ours: and where it is only better. libwebrtc waits for 42 %; ours is of the better operation, not of the one in use.
SPARE_RATIO = 0.55
# Ours: where pictures waited although the frames' own time did not tell, what is next takes clearly less.
LESS = 0.75
# Ours: where pictures are left out, the others have more time, but not to come later than by one that was captured:
# at FIT_RATIO they just don't.
LATENESS = 1.5
# Ours: what is not known yet of the operation counts against it, by so many standard deviations.
DOUBT = 0.5


class EncodeTime:
    """Refuses what would take too long."""

    reason = AdaptationReason.ENCODE_LATENCY

    def __init__(self, *, budget_ratio: float) -> None:
        """budget_ratio is the part of the interval that quality beyond need may take."""
        self.costs = EncodeCosts()
        self.load = EncodeLoad()
        self._spare_ratio = min(budget_ratio, SPARE_RATIO)

    def refuses(
        self, operation: Operation, situation: Situation, step: Step, *, strictly: bool
    ) -> Refusal | None:
        """See Constraint."""
        overload = self.load.overload_ratio
        if step is Step.KEEP:
            return None if overload is None else _refusal(operation, overload, FIT_RATIO)
        ratio, limit = self.ratio(operation, situation), FIT_RATIO
        if step is Step.IMPROVE:
            scale = situation.scale(operation)
            ratio *= math.exp(DOUBT * self.costs.deviation(operation, scale=scale))
            limit = self._spare_ratio
        elif overload is not None:
            limit = min(limit, LESS * self.ratio(situation.used, situation))
        return _refusal(operation, ratio, limit) if ratio > limit else None

    def ratio(self, operation: Operation, situation: Situation) -> float:
        """The part of the frame interval that a frame would take, of the time that it has."""
        frame_us = self.costs.frame_us(
            operation, scale=situation.scale(operation), pixels=situation.pixels(operation)
        )
        return frame_us / min(situation.interval_us(operation), LATENESS * situation.gap_us)


def _refusal(operation: Operation, ratio: float, limit: float) -> Refusal:
    return Refusal(operation=operation, constraint="encode time", value=ratio, limit=limit)
