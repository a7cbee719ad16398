"""The device's own constraint: frames are to be encoded well within the time from one to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from .decisions import AdaptationReason, Refusal
from .encode_cost import EncodeCosts
from .encode_load import EncodeLoad
from .operation import Operation
from .operations import is_spare
from .situation import Situation, Step

# Ours: what an operation is expected to take of the frame interval where another had to be left. Between this
# and libwebrtc's 85 % nothing moves.
FIT_RATIO = 0.65
# Ours: and what another may take that is only better. libwebrtc waits for 42 %, but of what is in use.
BETTER_RATIO = 0.55
# Ours: once the device is faster again by so much, an operation that was in use for so long is taken again for as
# much as it took then and a little more, up to here.
FASTER = 1.35
HELD_US = 10_000_000
HELD_SLACK = 1.03
HELD_RATIO = 0.82
# Ours: what slow frames that were chance seem to tell of the device is forgotten by then.
BEGINNING_US = 2_000_000
# Ours: what was too much although it was expected to fit gives way to what takes clearly less.
LESS = 0.75
# Ours: where pictures are left out, the others have more time, but not to come later than by one that was captured:
# at FIT_RATIO they just don't.
LATENESS = 1.5
# Ours: it follows within ten frames.
WAITING_GAIN = 0.1
# Ours: what is not known yet of the operation counts against it, by so many standard deviations.
DOUBT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedFrame:
    """What encoding a frame came to.

    took_us is from its job to its result, of which encode_us are the tries, each of so many pixels, this
    fraction of the picture's sides. is_anchor tells that it is a key frame or the finer one of each
    second, which take longer.
    """

    took_us: int
    encode_us: int
    tries: int
    scale: Fraction
    pixels: int
    is_anchor: bool


class EncodeTime:
    """Refuses what would take too long."""

    reason = AdaptationReason.ENCODE_LATENCY

    def __init__(self, *, budget_ratio: float) -> None:
        """budget_ratio is the part of the interval that quality beyond need may take."""
        self.costs = EncodeCosts()
        self.load = EncodeLoad()
        self._spare_ratio = min(budget_ratio, BETTER_RATIO)
        self._held: dict[Operation, float] = {}
        """What operations took of their interval while they were in use."""
        self._slowest = 0.0
        """How slow the device has been with the operation in use, apart from its beginning."""
        self._began_us: int | None = None
        self._waiting_us = 0.0
        """What a frame waits for its thread and until its result is taken, whatever it is coded with."""

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
            limit = self._spare_ratio if is_spare(operation) else BETTER_RATIO
            if self._slowest > FASTER * self.costs.slowness:
                limit = max(limit, self._held.get(operation, 0.0))
        elif overload is not None:
            limit = min(limit, LESS * self.ratio(situation.used, situation))
        return _refusal(operation, ratio, limit) if ratio > limit else None

    def coded(
        self, frame: CodedFrame, *, operation: Operation, interval_us: int, now_us: int
    ) -> None:
        """A frame came of the operation in use, whose pictures are sent each interval_us."""
        waited_us = max(0, frame.took_us - frame.encode_us)
        self._waiting_us += WAITING_GAIN * (waited_us - self._waiting_us)
        self.load.frame(frame.took_us, interval_us=interval_us, is_anchor=frame.is_anchor)
        if not frame.is_anchor:
            self.costs.observe(
                operation,
                scale=frame.scale,
                encode_us=frame.encode_us,
                tries=frame.tries,
                pixels=frame.pixels,
            )
        if self.load.overload_ratio is not None:
            self.costs.believe()
        if self._began_us is None:
            self._began_us = now_us
        if now_us - self._began_us >= BEGINNING_US:
            self._slowest = max(self._slowest, self.costs.slowness)

    def begin(self, *, left: Operation, now_us: int) -> None:
        """Another operation is in use, after the one that was left."""
        usual = self.load.usual_ratio
        lasted_us = 0 if self._began_us is None else now_us - self._began_us
        if lasted_us >= HELD_US and usual is not None:
            self._held[left] = min(HELD_SLACK * usual, HELD_RATIO)
        else:
            self._held.pop(left, None)
        self._slowest, self._began_us = 0.0, now_us
        self.load.begin()

    def ratio(self, operation: Operation, situation: Situation) -> float:
        """The part of the frame interval that a frame would take, of the time that it has."""
        frame_us = self.costs.frame_us(
            operation, scale=situation.scale(operation), pixels=situation.pixels(operation)
        )
        return (frame_us + self._waiting_us) / min(
            situation.interval_us(operation), LATENESS * situation.gap_us
        )


def _refusal(operation: Operation, ratio: float, limit: float) -> Refusal:
    return Refusal(operation=operation, constraint="encode time", value=ratio, limit=limit)
