"""The picture between its plan and the last verdict, and the next try at it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from .budget import AIM
from .ladder import Size
from .messages import FrameKind, FramePlan, Retry
from .probe import Thumbnail
from .rate_model import OVERHEAD_BITS, RateModel, Scene
from .settings import ControllerSettings

# Ours: above this quantizer a smaller size looks better at the same bits.
SCALE_DOWN_QUANTIZER = 60
# Ours: tries that may be repeated to keep the soft bound; more cost more than they gain.
SOFT_TRIES = 2
# AV1 specification, section 7.11.3.3: at most this many times smaller than a reference, per side; what
# the try before left in the slot counts as one.
SHRINK_MAX = 2


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One picture: what was planned, at which sizes it may be coded, and the try under way."""

    now_us: int
    frame_id: int
    plan: FramePlan
    sizes: Mapping[Fraction, Size]
    samples: Thumbnail | None
    scene: Scene
    keeps_size: bool = False
    tries: int = 0
    quantizer: int = field(init=False)
    scale: Fraction = field(init=False)

    def __post_init__(self) -> None:
        self.quantizer, self.scale = self.plan.quantizer, self.plan.scale

    def within(self, settings: ControllerSettings) -> int:
        """Bits up to which this try is sent: the soft cap at first, the hard one in the end."""
        is_final = self.tries > SOFT_TRIES or self.quantizer >= settings.max_quantizer
        return self.plan.hard_cap_bits if is_final else self.plan.cap_bits

    def begin(self, retry: Retry) -> None:
        """The next try is this one."""
        self.quantizer, self.scale = retry.quantizer, retry.scale
        self.scene = scaled(self.scene, self.sizes[retry.scale])


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
        scale, quantizer = largest_useful(attempt.scene, smaller, bits=aim, model=model)
        return Retry(quantizer=min(max(quantizer, settings.min_quantizer), top), scale=scale)
    if attempt.quantizer >= top:
        return None
    is_last = attempt.tries + 1 >= settings.max_tries
    return Retry(quantizer=top if is_last else min(quantizer, top), scale=attempt.scale)


def largest_useful(
    scene: Scene, sizes: Mapping[Fraction, Size], *, bits: float, model: RateModel
) -> tuple[Fraction, int]:
    """The largest scale at which a picture fits these bits at a useful quantizer, and that one.

    sizes are the coded sizes to choose from, largest first; the smallest where none is useful.
    """
    fits = [
        (scale, model.quantizer_for(scaled(scene, size), bits=bits))
        for scale, size in sizes.items()
    ]
    useful = (fit for fit in fits if fit[1] <= SCALE_DOWN_QUANTIZER)
    return next(useful, fits[-1])


def scaled(scene: Scene, size: Size) -> Scene:
    """The picture as the model sees it when it is coded at this size."""
    return replace(scene, log_pixels=math.log2(math.prod(size)))


def _smaller_scales(attempt: Attempt, *, key: bool) -> dict[Fraction, Size]:
    return {
        scale: size
        for scale, size in attempt.sizes.items()
        if scale < attempt.scale and (key or SHRINK_MAX * scale >= attempt.scale)
    }
