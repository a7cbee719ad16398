"""Chooses the quantizer so that the bucket comes back to its small positive level."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .messages import FrameKind
from .rate_model import RateModel
from .settings import ControllerSettings

MICRO = 1_000_000
# Ours: over how many frames the share of each kind is averaged.
SHARE_GAIN = 1 / 32
# Ours: a picture is never planned below this part of an even share, so that steering stays smooth.
GOAL_MIN_RATIO = 0.25
# Ours: quantizer steps that one frame may go finer; coarser is not limited.
FINER_STEPS = 3.0
# Ours: a change of the base quantizer below this is noise and costs more than it corrects.
DEAD_BAND = 0.6
# Ours: a key frame is at most this much finer than the frames around it.
KEY_FINER_STEPS = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What steering decides by.

    level_bits is the backlog, below zero when the bucket ran empty; room_bits what the kind's delay
    leaves for this frame; pixels the coded size.
    """

    kind: FrameKind
    target_bps: int
    gap_us: int
    level_bits: int
    room_bits: int
    pixels: int


class QuantizerSteering:
    """One base quantizer with an offset for each kind, moved as little as the rate allows."""

    def __init__(self, settings: ControllerSettings) -> None:
        self._settings = settings
        self._base: float | None = None
        self._share = dict.fromkeys(FrameKind, 0.0) | {FrameKind.DELTA: 1.0}
        self._offset = {
            FrameKind.DELTA: 0,
            FrameKind.LTR: -settings.ltr_steps,
            FrameKind.ENHANCEMENT: settings.enhancement_steps,
        }

    def choose(self, situation: Situation, model: RateModel) -> int:
        """The quantizer for a frame in this situation."""
        if situation.kind is FrameKind.KEY:
            return self._clamp(self._for_key(situation, model))
        self._base = self._moved(self._wanted(situation, model))
        fits = model.quantizer(situation.kind, bits=situation.room_bits, pixels=situation.pixels)
        return self._clamp(max(self._base + self._offset[situation.kind], fits))

    def sent(self, kind: FrameKind, quantizer: int) -> None:
        """A frame of this kind was sent at this quantizer."""
        if kind is FrameKind.KEY:
            return
        for other in self._share:
            self._share[other] += SHARE_GAIN * ((other is kind) - self._share[other])
        base = quantizer - self._offset[kind]
        if self._base is None or base > self._base + 1:
            self._base = float(base)

    def rescaled(self, steps: float) -> None:
        """The coded size changed: the same rate now needs a quantizer other by steps."""
        if self._base is not None:
            self._base += steps

    def _for_key(self, situation: Situation, model: RateModel) -> float:
        fits = model.quantizer(FrameKind.KEY, bits=situation.room_bits, pixels=situation.pixels)
        return fits if self._base is None else max(fits, self._base - KEY_FINER_STEPS)

    def _wanted(self, situation: Situation, model: RateModel) -> float:
        even_bits = situation.target_bps * situation.gap_us / MICRO
        residual_bits = situation.target_bps * self._settings.residual_us / MICRO
        correction = (residual_bits - situation.level_bits) * (
            situation.gap_us / self._settings.horizon_us
        )
        goal = max(even_bits + correction, GOAL_MIN_RATIO * even_bits)
        mixed = sum(
            share * model.bits(kind, quantizer=self._offset[kind], pixels=situation.pixels)
            for kind, share in self._share.items()
            if share > 0
        )
        return math.log2(mixed / goal) / model.slope

    def _moved(self, wanted: float) -> float:
        wanted = min(max(wanted, self._settings.min_quantizer), self._settings.max_quantizer)
        if self._base is None:
            return wanted
        if abs(wanted - self._base) < DEAD_BAND:
            return self._base
        return max(wanted, self._base - FINER_STEPS)

    def _clamp(self, quantizer: float) -> int:
        low, high = self._settings.min_quantizer, self._settings.max_quantizer
        return min(max(round(quantizer), low), high)
