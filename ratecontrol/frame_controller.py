"""Plans every picture, judges every try, and keeps the delay bound on each frame that is sent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ..codecs.errors import LocalError
from .capture_clock import CaptureClock
from .ladder import Size, SizeLadder, coded_size, legal_scales
from .messages import Drop, DropReason, FrameKind, FramePlan, Retry, Send, Verdict
from .rate_model import OVERHEAD_BITS, RateModel
from .settings import ControllerSettings
from .steering import QuantizerSteering, Situation
from .vbv import VbvBuffer

MICRO = 1_000_000
TARGET_START_BPS = 300_000
# Ours: unused rate that steering may still spend later, as delay; more would burst.
CREDIT_US = 60_000
CREDIT_DECAY_US = 500_000
# Ours: a try after a too large one aims at this part of the cap, for the model's error.
RETRY_AIM = 0.85
# Ours: over this quantizer a smaller size looks better at the same bits.
SCALE_DOWN_QUANTIZER = 60
# Ours: how fast encoders with their own rate control are asked to work off the backlog.
OWN_CONTROL_HORIZON_US = 500_000
DEFAULT_SETTINGS = ControllerSettings()


@dataclass(slots=True, kw_only=True)
class _Attempt:
    """The picture between plan and the last verdict."""

    now_us: int
    plan: FramePlan
    width: int
    height: int
    scales: tuple[Fraction, ...]
    quantizer: int
    scale: Fraction
    tries: int = 0
    last_bits: int = 0

    def pixels(self, scale: Fraction | None = None) -> int:
        width, height = coded_size(self.width, self.height, scale or self.scale)
        return width * height


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
        self._vbv = VbvBuffer(target_bps)
        self._clock = CaptureClock()
        self._model = RateModel()
        self._steering = QuantizerSteering(settings)
        self._ladder = SizeLadder()
        self._attempt: _Attempt | None = None
        self._credit_bits = 0
        self._unused_bits = 0
        self._quantizer = settings.max_quantizer

    @property
    def target_bps(self) -> int:
        """The rate in force."""
        return self._vbv.target_bps

    @property
    def floor_reached(self) -> bool:
        """Whether the last frame used the finest quantizer: the content cannot use the rate."""
        return self._quantizer <= self._settings.min_quantizer

    def set_target(self, target_bps: int, *, now_us: int) -> None:
        """Use this rate from now_us on. Raises LocalError below 1 bit/s."""
        self._vbv.set_target(target_bps, now_us=now_us)

    def vbv_delay_us(self, now_us: int) -> int:
        """How long the bits sent so far take to drain from now_us on."""
        return self._vbv.delay_us(now_us)

    def plan(
        self,
        *,
        now_us: int,
        kind: FrameKind,
        width: int,
        height: int,
        references: Iterable[Size] = (),
    ) -> FramePlan | Drop:
        """How to encode the picture of width x height captured at now_us; or not at all.

        references are the coded sizes of the frames that it will be predicted from.
        """
        self._clock.picture(now_us)
        self._count_credit(now_us)
        scales = legal_scales(width, height, references)
        if not scales:
            raise LocalError(f"no size of a {width}x{height} picture suits its references")
        scale = self._scale(scales)
        attempt_pixels = math.prod(coded_size(width, height, scale))
        situation = self._situation(kind, now_us, attempt_pixels)
        hard_bits = self._vbv.room_bits(self._settings.bound_us, now_us=now_us)
        if self._no_room(kind, hard_bits, attempt_pixels, now_us):
            self._attempt = None
            return Drop(reason=DropReason.BACKLOG)
        quantizer = self._steering.choose(situation, self._model)
        plan = FramePlan(
            kind=kind,
            quantizer=quantizer,
            scale=scale,
            target_bps=self._own_control_target(now_us),
            target_bits=round(self._model.bits(kind, quantizer=quantizer, pixels=attempt_pixels)),
            cap_bits=min(self._soft_bits(kind, now_us), hard_bits),
            hard_cap_bits=hard_bits,
        )
        self._attempt = _Attempt(
            now_us=now_us,
            plan=plan,
            width=width,
            height=height,
            scales=scales,
            quantizer=quantizer,
            scale=scale,
        )
        return plan

    def judge(self, size_bits: int, *, can_retry: bool = True) -> Verdict:
        """What to do with a try of size_bits. Send has counted it already.

        An encoder that cannot retry (its try is part of its state) always sends.
        """
        attempt = self._attempt
        if attempt is None:
            raise LocalError("judge without a plan")
        attempt.tries += 1
        if not can_retry:
            return self._send(attempt, size_bits)
        self._learn(attempt, size_bits)
        if size_bits <= attempt.plan.cap_bits:
            return self._send(attempt, size_bits)
        retry = self._next_try(attempt, size_bits)
        if retry is not None and attempt.tries < self._settings.max_tries:
            attempt.last_bits = size_bits
            attempt.quantizer, attempt.scale = retry.quantizer, retry.scale
            return retry
        waiting_helps = self._vbv.delay_us(attempt.now_us) > 0
        if size_bits <= attempt.plan.hard_cap_bits or (retry is None and not waiting_helps):
            return self._send(attempt, size_bits)
        self._attempt = None
        return Drop(reason=DropReason.TOO_LARGE)

    def _send(self, attempt: _Attempt, size_bits: int) -> Send:
        now_us, kind = attempt.now_us, attempt.plan.kind
        self._vbv.add(size_bits, now_us=now_us)
        self._steering.sent(kind, attempt.quantizer)
        before = self._ladder.scale
        self._ladder.sent(scale=attempt.scale, quantizer=attempt.quantizer, now_us=now_us)
        if self._ladder.scale != before:
            self._follow_size(attempt, before)
        self._quantizer = attempt.quantizer
        self._attempt = None
        return Send(vbv_delay_us=self._vbv.delay_us(now_us))

    def _follow_size(self, attempt: _Attempt, before: Fraction) -> None:
        if self._ladder.scale == attempt.scale:
            return
        kind = FrameKind.DELTA
        bits = self._model.bits(kind, quantizer=0, pixels=attempt.pixels(before))
        after = self._model.bits(kind, quantizer=0, pixels=attempt.pixels(self._ladder.scale))
        self._steering.rescaled(math.log2(after / bits) / self._model.slope)

    def _learn(self, attempt: _Attempt, size_bits: int) -> None:
        self._model.observe(
            attempt.plan.kind,
            quantizer=attempt.quantizer,
            pixels=attempt.pixels(),
            bits=size_bits,
        )

    def _next_try(self, attempt: _Attempt, size_bits: int) -> Retry | None:
        """A coarser try, or a smaller one where coarser does not reach; None at the coarsest."""
        top = self._settings.max_quantizer
        aim = max(RETRY_AIM * attempt.plan.cap_bits - OVERHEAD_BITS, 1.0)
        over = math.log2(max(size_bits - OVERHEAD_BITS, 8) / aim)
        quantizer = attempt.quantizer + max(1, math.ceil(over / self._model.slope))
        smaller = [s for s in attempt.scales if s < attempt.scale]
        if quantizer > SCALE_DOWN_QUANTIZER and smaller:
            return self._smaller_try(attempt, smaller, over)
        if attempt.quantizer >= top:
            return None
        last = attempt.tries + 1 >= self._settings.max_tries
        return Retry(quantizer=top if last else min(quantizer, top), scale=attempt.scale)

    def _smaller_try(self, attempt: _Attempt, smaller: list[Fraction], over: float) -> Retry:
        top = self._settings.max_quantizer
        scale, quantizer = smaller[0], float(top)
        for scale in smaller:
            relief = 0.75 * math.log2(attempt.pixels() / attempt.pixels(scale))
            quantizer = attempt.quantizer + (over - relief) / self._model.slope
            if quantizer <= SCALE_DOWN_QUANTIZER:
                break
        low = self._settings.min_quantizer
        return Retry(quantizer=min(max(math.ceil(quantizer), low), top), scale=scale)

    def _scale(self, scales: tuple[Fraction, ...]) -> Fraction:
        """The ladder's scale, or the nearest legal one."""
        return min(scales, key=lambda s: abs(s - self._ladder.scale))

    def _situation(self, kind: FrameKind, now_us: int, pixels: int) -> Situation:
        return Situation(
            kind=kind,
            target_bps=self.target_bps,
            gap_us=self._clock.gap_us,
            level_bits=self._vbv.backlog_bits(now_us) - self._credit_bits,
            room_bits=self._planned_room(kind, now_us),
            pixels=pixels,
        )

    def _planned_room(self, kind: FrameKind, now_us: int) -> int:
        if kind is FrameKind.KEY:
            return self._vbv.room_bits(self._settings.key_delay_us, now_us=now_us)
        return round(RETRY_AIM * self._soft_bits(kind, now_us))

    def _soft_bits(self, kind: FrameKind, now_us: int) -> int:
        """Room under the kind's soft bound; after a key frame, enough to work the backlog off."""
        if kind is FrameKind.KEY:
            return self._vbv.room_bits(self._settings.bound_us, now_us=now_us)
        soft = self._vbv.room_bits(self._settings.soft_bound_us, now_us=now_us)
        return max(soft, self.target_bps * self._clock.gap_us * 3 // (4 * MICRO))

    def _no_room(self, kind: FrameKind, hard_bits: int, pixels: int, now_us: int) -> bool:
        if self._vbv.delay_us(now_us) == 0:
            return False
        least = self._model.bits(kind, quantizer=self._settings.max_quantizer, pixels=pixels)
        if not self._model.knows(kind):
            least = OVERHEAD_BITS
        return hard_bits < least

    def _count_credit(self, now_us: int) -> None:
        """Rate that went unused just before may still be spent, up to CREDIT_US of it."""
        self._vbv.backlog_bits(now_us)
        unused = self._vbv.unused_bits - self._unused_bits
        self._unused_bits += unused
        kept = self._credit_bits * CREDIT_DECAY_US // (CREDIT_DECAY_US + self._clock.gap_us)
        self._credit_bits = min(kept + unused, self.target_bps * CREDIT_US // MICRO)

    def _own_control_target(self, now_us: int) -> int:
        """The target for encoders with their own rate control, moved to correct the backlog."""
        level_us = self._vbv.delay_us(now_us)
        wanted_us = self._settings.residual_us
        correction = self.target_bps * (wanted_us - level_us) // OWN_CONTROL_HORIZON_US
        return max(self.target_bps // 2, self.target_bps + correction)
