"""Chooses the quantizer so that the bucket comes back to its small positive level.

Steady quantizers are worth bits, so there is one base coarseness for all frames, found for the mean
demand of the last quarter second; the picture at hand moves it only where it would not fit its room.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .messages import FrameKind
from .quantizer_scale import coarseness, quantizer_at
from .rate_model import COARSER, FALL, OVERHEAD_BITS, SIZE, RateModel, Scene
from .settings import ControllerSettings

MICRO = 1_000_000
# Ours: the time over which demand is averaged.
DEMAND_US = 250_000
# Ours: log2 of what one frame may count more than the mean, lest a scene cut starve what follows.
DEMAND_JUMP = 2.0
# Ours: a frame is never planned below this part of an even share.
GOAL_MIN_RATIO = 0.3
# Ours: the mean of what is left, over the frames of the horizon, of a step against the reference.
LEFT = 0.24
# Ours: halvings in the search for a coarseness: to 0.02, a fifth of a quantizer step.
COARSENESS_BITS = 9
# Ours: how far past the coarsest quantizer steering may wish, in coarseness, and how many quantizers
# of the size there are in one.
BEYOND = 1.5
STEPS_BEYOND = 7.0
# Ours: quantizer steps by which the base must move before the quantizer follows.
DEAD_BAND = 0.7
# Ours: coarseness by which a key frame may be finer than the frames around it.
KEY_FINER = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What steering decides by.

    level_bits is the backlog, below zero when the bucket ran empty; room_bits what the kind's delay
    leaves for this frame.
    """

    kind: FrameKind
    target_bps: int
    gap_us: int
    level_bits: int
    room_bits: int
    scene: Scene


class QuantizerSteering:
    """One base coarseness for all kinds, each at its offset, moved as little as the rate allows."""

    def __init__(self, settings: ControllerSettings) -> None:
        self._settings = settings
        self._mean_demand: float | None = None
        self._base: float | None = None
        self._quantizer: int | None = None

    @property
    def base_quantizer(self) -> float:
        """The quantizer that steering wants for ordinary frames; there may be none as coarse."""
        if self._base is None:
            return float(self._settings.max_quantizer)
        beyond = max(0.0, self._base - self._highest)
        return quantizer_at(self._base) + STEPS_BEYOND * beyond

    def choose(self, situation: Situation, model: RateModel) -> int:
        """The quantizer for a frame in this situation."""
        fits = model.quantizer_for(situation.scene, bits=situation.room_bits)
        if situation.kind is FrameKind.KEY:
            finest = fits if self._base is None else round(quantizer_at(self._base - KEY_FINER))
            return self._clamp(max(fits, finest))
        self._base = self._wanted(situation, model)
        steady = self._steadied(quantizer_at(self._base))
        return self._clamp(max(steady + self._offset(situation.kind), fits))

    def observed(self, log_news: float, *, kind: FrameKind, gap_us: int) -> None:
        """A frame of this kind was sent whose news at coarseness 0, as log2, was this."""
        log_news -= self._saving(kind)
        if self._mean_demand is not None:
            log_news = min(log_news, self._mean_demand + DEMAND_JUMP)
        self._mean_demand = self._with(log_news, gap_us)

    def rescaled(self, pixel_ratio: float) -> None:
        """From now on frames are coded with this many times as many pixels."""
        shift = SIZE * math.log2(pixel_ratio)
        if self._mean_demand is not None:
            self._mean_demand += shift
        self._quantizer = None

    def _wanted(self, situation: Situation, model: RateModel) -> float:
        """The coarseness at which the frames of the horizon would take the bits that are left."""
        goal = self._goal_bits(situation)
        news = model.demand(situation.scene) - self._saving(situation.kind)
        demand = self._with(news, situation.gap_us)
        frames = max(1.0, self._settings.horizon_us / situation.gap_us)
        curve = model.curve(situation.scene)
        reference = situation.scene.reference_coarseness
        low, high = self._lowest, self._highest + BEYOND
        for _ in range(COARSENESS_BITS):
            coarse = 0.5 * (low + high)
            coarser = COARSER * LEFT * max(0.0, coarse - reference)
            news = math.exp2(demand - FALL * coarse - coarser)
            refinement = curve.refinement(coarse) / frames
            if OVERHEAD_BITS + news + refinement > goal:
                low = coarse
            else:
                high = coarse
        return high

    def _goal_bits(self, situation: Situation) -> float:
        """An even share of the rate, more or less by what the backlog asks for."""
        even_bits = situation.target_bps * situation.gap_us / MICRO
        residual_bits = situation.target_bps * self._settings.residual_us / MICRO
        missing_bits = residual_bits - situation.level_bits
        goal = even_bits + missing_bits * situation.gap_us / self._settings.horizon_us
        return max(goal, GOAL_MIN_RATIO * even_bits)

    def _with(self, demand: float, gap_us: int) -> float:
        """log2 of the mean demand with one more frame in it."""
        if self._mean_demand is None:
            return demand
        share = gap_us / (DEMAND_US + gap_us)
        mean = (1 - share) * math.exp2(self._mean_demand) + share * math.exp2(demand)
        return math.log2(mean)

    def _saving(self, kind: FrameKind) -> float:
        """log2 of what a frame of this kind saves against one at the base quantizer."""
        if kind is not FrameKind.ENHANCEMENT or self._quantizer is None:
            return 0.0
        if self._mean_demand is None:
            return 0.0
        top = self._settings.max_quantizer
        coarser = min(self._quantizer + self._settings.enhancement_steps, top)
        return (FALL + COARSER) * (coarseness(coarser) - coarseness(self._quantizer))

    def _steadied(self, quantizer: float) -> int:
        if self._quantizer is None or abs(quantizer - self._quantizer) > DEAD_BAND:
            self._quantizer = round(quantizer)
        return self._quantizer

    def _offset(self, kind: FrameKind) -> int:
        if kind is FrameKind.LTR:
            return -self._settings.ltr_steps
        return self._settings.enhancement_steps if kind is FrameKind.ENHANCEMENT else 0

    @property
    def _lowest(self) -> float:
        return coarseness(self._settings.min_quantizer)

    @property
    def _highest(self) -> float:
        return coarseness(self._settings.max_quantizer)

    def _clamp(self, quantizer: float) -> int:
        low, high = self._settings.min_quantizer, self._settings.max_quantizer
        return min(max(round(quantizer), low), high)
