"""Plans every picture, judges every try, and keeps the delay bound on each frame that is sent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

from ..codecs.errors import LocalError
from .budget import Budget
from .history import FrameHistory
from .ladder import FULL, Size, SizeLadder, coded_size, legal_scales
from .messages import Drop, DropReason, FrameKind, FramePlan, Send, Verdict
from .own_control import OwnControl
from .probe import Luma
from .quantizer_scale import coarseness
from .rate_model import OVERHEAD_BITS, RateModel, Scene
from .retry import Attempt, largest_useful, next_try, scaled
from .settings import ControllerSettings
from .steering import QuantizerSteering, Situation

TARGET_START_BPS = 300_000
DEFAULT_SETTINGS = ControllerSettings()


class FrameController:
    """Bits for one stream: plan, then judge until it says Send or Drop, for every picture.

    Pure and deterministic: the same calls give the same answers.
    """

    def __init__(
        self,
        *,
        target_bps: int = TARGET_START_BPS,
        settings: ControllerSettings = DEFAULT_SETTINGS,
    ) -> None:
        self._settings = settings
        self._budget = Budget(target_bps, settings)
        self._model = RateModel()
        self._steering = QuantizerSteering(settings)
        self._ladder = SizeLadder()
        self._history = FrameHistory()
        self._own = OwnControl(settings)
        self._attempt: Attempt | None = None
        self._quantizer = settings.max_quantizer

    @property
    def target_bps(self) -> int:
        """The rate in force."""
        return self._budget.target_bps

    @property
    def floor_reached(self) -> bool:
        """Whether the last frame used the finest quantizer: the content cannot use the rate."""
        return self._quantizer <= self._settings.min_quantizer

    def set_target(self, target_bps: int, *, now_us: int) -> None:
        """Use this rate from now_us on. Raises LocalError below 1 bit/s."""
        self._budget.set_target(target_bps, now_us=now_us)

    def vbv_delay_us(self, now_us: int) -> int:
        """How long the bits sent so far take to drain from now_us on."""
        return self._budget.delay_us(now_us)

    def plan(
        self,
        *,
        now_us: int,
        kind: FrameKind,
        width: int,
        height: int,
        luma: Luma | None = None,
        frame_id: int = 0,
        reference_id: int | None = None,
        held_sizes: Iterable[Size] = (),
        largest_scale: Fraction = FULL,
        keeps_size: bool = False,
        can_retry: bool = True,
    ) -> FramePlan | Drop:
        """How to encode the picture of width x height captured at now_us; or not at all.

        luma is its luma plane, for a better guess at its bits. reference_id is the frame that it
        is predicted from; held_sizes the coded sizes of all frames in the slots it reads or writes.
        largest_scale is the most that the encoder's preset codes; keeps_size is for content, such
        as text, that suffers more from a smaller size than from a coarser quantizer. An encoder that
        cannot retry has a rate control of its own: it is told a rate and codes the full size.
        """
        self._attempt = None
        self._budget.picture(now_us)
        key = kind is FrameKind.KEY
        sizes: Mapping[Fraction, Size] = {FULL: (width, height)}
        if can_retry:
            sizes = _legal_sizes(width, height, frozenset(held_sizes), largest_scale)
        scale = self._ladder.nearest(sizes)
        scene, samples = self._history.look(
            luma, key=key, reference_id=reference_id, pixels=math.prod(sizes[scale])
        )
        if not can_retry:
            plan = self._own_plan(kind, now_us)
        else:
            scale, scene = self._key_size(scene, scale, sizes, now_us) if key else (scale, scene)
            plan = self._quantized_plan(kind, scene, scale, now_us)
        if isinstance(plan, FramePlan):
            self._attempt = Attempt(
                now_us=now_us,
                frame_id=frame_id,
                plan=plan,
                sizes=sizes,
                samples=samples,
                scene=scene,
                keeps_size=keeps_size,
            )
        return plan

    def judge(self, size_bits: int, *, can_retry: bool = True) -> Verdict:
        """What to do with a try of size_bits. Send has counted it already.

        An encoder that cannot retry (its try is part of its state) always sends. Raises LocalError
        without a plan that waits for it.
        """
        attempt = self._attempt
        if attempt is None:
            raise LocalError("judge needs a plan, and one verdict of Send or Drop ends it")
        attempt.tries += 1
        if not can_retry:
            self._own.sent(size_bits, key=attempt.plan.kind is FrameKind.KEY)
            return self._send(attempt, size_bits)
        if size_bits <= attempt.within(self._settings):
            return self._send_learned(attempt, size_bits)
        retry = next_try(attempt, size_bits, model=self._model, settings=self._settings)
        self._learn(attempt, size_bits)
        if retry is not None and attempt.tries < self._settings.max_tries:
            attempt.begin(retry)
            return retry
        waiting_helps = self._budget.delay_us(attempt.now_us) > 0
        if size_bits <= attempt.plan.hard_cap_bits or (retry is None and not waiting_helps):
            return self._send_learned(attempt, size_bits)
        self._attempt = None
        return Drop(reason=DropReason.TOO_LARGE)

    def _key_size(
        self, scene: Scene, scale: Fraction, sizes: Mapping[Fraction, Size], now_us: int
    ) -> tuple[Fraction, Scene]:
        """No larger than other frames, and small enough for a useful quantizer."""
        below = {legal: size for legal, size in sizes.items() if legal <= scale}
        bits = self._budget.planned_bits(FrameKind.KEY, now_us)
        scale, _ = largest_useful(scene, below, bits=bits, model=self._model)
        return scale, scaled(scene, sizes[scale])

    def _quantized_plan(
        self, kind: FrameKind, scene: Scene, scale: Fraction, now_us: int
    ) -> FramePlan | Drop:
        hard_bits = self._budget.hard_bits(now_us)
        if self._no_room(scene, hard_bits, now_us):
            return Drop(reason=DropReason.BACKLOG)
        situation = Situation(
            kind=kind,
            target_bps=self.target_bps,
            gap_us=self._budget.gap_us,
            level_bits=self._budget.level_bits(now_us),
            room_bits=self._budget.planned_bits(kind, now_us),
            scene=scene,
        )
        quantizer = self._steering.choose(situation, self._model)
        return FramePlan(
            kind=kind,
            quantizer=quantizer,
            scale=scale,
            target_bps=self.target_bps,
            target_bits=round(self._model.bits(scene, coarse=coarseness(quantizer))),
            cap_bits=self._budget.cap_bits(kind, now_us),
            hard_cap_bits=hard_bits,
        )

    def _own_plan(self, kind: FrameKind, now_us: int) -> FramePlan | Drop:
        """For an encoder that is told a rate and no quantizer."""
        hard_bits = self._budget.hard_bits(now_us)
        expected = self._own.expected_bits(key=kind is FrameKind.KEY)
        if self._budget.delay_us(now_us) > 0 and hard_bits < max(expected, OVERHEAD_BITS):
            return Drop(reason=DropReason.BACKLOG)
        return FramePlan(
            kind=kind,
            quantizer=self._settings.max_quantizer,
            scale=FULL,
            target_bps=self._own.target_bps(
                self.target_bps, level_bits=self._budget.level_bits(now_us)
            ),
            target_bits=expected,
            cap_bits=hard_bits,
            hard_cap_bits=hard_bits,
        )

    def _no_room(self, scene: Scene, hard_bits: int, now_us: int) -> bool:
        """Whether even the coarsest frame would break the bound, and waiting helps."""
        if self._budget.delay_us(now_us) == 0:
            return False
        coarsest = coarseness(self._settings.max_quantizer)
        least = self._model.bits(scene, coarse=coarsest) / 2
        return hard_bits < max(least, OVERHEAD_BITS)

    def _send_learned(self, attempt: Attempt, size_bits: int) -> Send:
        self._learn(attempt, size_bits)
        kind, before = attempt.plan.kind, self._ladder.scale
        self._follow_size(attempt)
        if kind is not FrameKind.KEY:
            demand = self._model.demand(attempt.scene)
            self._steering.observed(demand, kind=kind, gap_us=self._budget.gap_us)
        if self._ladder.scale != before:
            self._steering.rescaled(float(self._ladder.scale / before) ** 2)
        self._quantizer = attempt.quantizer
        return self._send(attempt, size_bits)

    def _follow_size(self, attempt: Attempt) -> None:
        """Later frames keep the size that this one had to take; else steering moves the ladder."""
        key, scale = attempt.plan.kind is FrameKind.KEY, attempt.scale
        # Whoever asks for no more than this may ask for more again, which says nothing of the rate.
        is_asked = scale == attempt.plan.scale == max(attempt.sizes) < self._ladder.scale
        if (key and not is_asked) or scale != attempt.plan.scale:
            self._ladder.forced(scale)
        elif is_asked or scale == self._ladder.scale:
            self._ladder.steered(
                self._steering.base_quantizer,
                now_us=attempt.now_us,
                keeps_size=attempt.keeps_size,
                coded=scale,
            )

    def _send(self, attempt: Attempt, size_bits: int) -> Send:
        self._budget.sent(size_bits, now_us=attempt.now_us)
        shown = self._model.shown(attempt.scene, quantizer=attempt.quantizer, bits=size_bits)
        self._history.sent(
            attempt.frame_id, scene=attempt.scene, samples=attempt.samples, coarse=shown
        )
        self._attempt = None
        return Send(vbv_delay_us=self._budget.delay_us(attempt.now_us))

    def _learn(self, attempt: Attempt, size_bits: int) -> None:
        self._model.observe(attempt.scene, quantizer=attempt.quantizer, bits=size_bits)


@lru_cache(maxsize=256)
def _legal_sizes(
    width: int, height: int, held: frozenset[Size], largest: Fraction
) -> Mapping[Fraction, Size]:
    """Scales up to the largest, and coded sizes, that all slots in use allow."""
    legal = legal_scales(width, height, held)
    scales = [scale for scale in legal if scale <= largest] or list(legal[-1:])
    if not scales:
        raise LocalError(f"no size of a {width}x{height} picture suits its references")
    return {scale: coded_size(width, height, scale) for scale in scales}
