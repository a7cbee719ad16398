"""The picture between its plan and the last verdict, and the next try at it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from .ladder import coded_size
from .messages import FrameKind, FramePlan, Retry
from .probe import Thumbnail
from .rate_model import OVERHEAD_BITS, RateModel, Scene
from .settings import ControllerSettings

# Ours: a try after a too large one aims at this part of the cap, for the error that is left.
AIM = 0.88
# Ours: above this quantizer a smaller size looks better at the same bits.
SCALE_DOWN_QUANTIZER = 60
# Ours: tries that may be repeated to keep the soft bound; more cost more than they gain.
SOFT_TRIES = 1
# AV1 specification, section 7.11.3.3: at most this many times smaller than a reference, per side; what
# the try before left in the slot counts as one.
SHRINK_MAX = 2


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One picture: what was planned, what it is predicted from, and the try that is under way."""

    now_us: int
    frame_id: int
    plan: FramePlan
    width: int
    height: int
    samples: Thumbnail | None
    scene: Scene
    scales: tuple[Fraction, ...]
    quantizer: int
    scale: Fraction
    tries: int = 0

    def within(self, settings: ControllerSettings) -> int:
        """Bits up to which this try is sent: the soft cap at first, the hard one in the end."""
        is_final = self.tries > SOFT_TRIES or self.quantizer >= settings.max_quantizer
        return self.plan.hard_cap_bits if is_final else self.plan.cap_bits

    def scene_at(self, scale: Fraction) -> Scene:
        """The picture as the model sees it when it is coded at this scale."""
        pixels = math.prod(coded_size(self.width, self.height, scale))
        return replace(self.scene, log_pixels=math.log2(pixels))


def next_try(
    attempt: Attempt, size_bits: int, *, model: RateModel, settings: ControllerSettings
) -> Retry | None:
    """A coarser try, or a smaller one where coarser does not reach; None at the end of both."""
    top = settings.max_quantizer
    key = attempt.plan.kind is FrameKind.KEY
    error = model.error(attempt.scene, quantizer=attempt.quantizer, bits=size_bits)
    aim = OVERHEAD_BITS + (AIM * attempt.plan.cap_bits - OVERHEAD_BITS) / math.exp2(error)
    quantizer = max(model.quantizer_for(attempt.scene, bits=aim), attempt.quantizer + 1)
    smaller = _smaller_scales(attempt, key=key)
    if smaller and (attempt.quantizer >= top or (key and quantizer > SCALE_DOWN_QUANTIZER)):
        return _smaller_try(attempt, smaller, aim, model=model, settings=settings)
    if attempt.quantizer >= top:
        return None
    is_last = attempt.tries + 1 >= settings.max_tries
    return Retry(quantizer=top if is_last else min(quantizer, top), scale=attempt.scale)


def _smaller_scales(attempt: Attempt, *, key: bool) -> list[Fraction]:
    return [
        scale
        for scale in attempt.scales
        if scale < attempt.scale and (key or SHRINK_MAX * scale >= attempt.scale)
    ]


def _smaller_try(
    attempt: Attempt,
    smaller: list[Fraction],
    aim: float,
    *,
    model: RateModel,
    settings: ControllerSettings,
) -> Retry:
    """The largest of the smaller scales that fits at a useful quantizer, else the smallest."""
    quantizer, scale = settings.max_quantizer, smaller[0]
    for scale in smaller:
        quantizer = model.quantizer_for(attempt.scene_at(scale), bits=aim)
        if quantizer <= SCALE_DOWN_QUANTIZER:
            break
    quantizer = min(max(quantizer, settings.min_quantizer), settings.max_quantizer)
    return Retry(quantizer=quantizer, scale=scale)
