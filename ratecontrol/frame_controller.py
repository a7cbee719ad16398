"""Plans every picture, judges every try, and keeps the delay bound on each frame that is sent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from ..codecs.errors import LocalError
from .capture_clock import CaptureClock
from .history import FrameHistory
from .ladder import Size, SizeLadder, coded_size, legal_scales
from .messages import Drop, DropReason, FrameKind, FramePlan, Send, Verdict
from .probe import Luma
from .quantizer_scale import coarseness
from .rate_model import OVERHEAD_BITS, RateModel, Scene
from .retry import AIM, Attempt, largest_useful, next_try, scaled
from .settings import ControllerSettings
from .steering import QuantizerSteering, Situation
from .vbv import VbvBuffer

MICRO = 1_000_000
TARGET_START_BPS = 300_000
# Ours: unused rate that steering may still spend later, as delay, and how soon it is forgotten.
CREDIT_US = 60_000
CREDIT_DECAY_US = 4_000_000
# Ours: while a large frame is worked off, every frame may still take this part of an even share.
SHARE_MIN = 0.4
# Ours: how fast encoders with their own rate control are asked to work off the backlog.
OWN_CONTROL_HORIZON_US = 500_000
# Ours: how far over the soft bound that it was planned for a frame is still sent as it comes.
SPARE_US = 10_000
KEY_CAP_US = 175_000
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
        self._vbv = VbvBuffer(target_bps)
        self._clock = CaptureClock()
        self._model = RateModel()
        self._steering = QuantizerSteering(settings)
        self._ladder = SizeLadder()
        self._history = FrameHistory()
        self._attempt: Attempt | None = None
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
        luma: Luma | None = None,
        frame_id: int = 0,
        reference_id: int | None = None,
        held_sizes: Iterable[Size] = (),
    ) -> FramePlan | Drop:
        """How to encode the picture of width x height captured at now_us; or not at all.

        luma is its luma plane, for a better guess at its bits. reference_id is the frame that it
        is predicted from; held_sizes the coded sizes of all frames in the slots it reads or writes.
        """
        self._clock.picture(now_us)
        self._count_credit(now_us)
        self._attempt = None
        scales = legal_scales(width, height, frozenset(held_sizes))
        sizes = {scale: coded_size(width, height, scale) for scale in scales}
        if not sizes:
            raise LocalError(f"no size of a {width}x{height} picture suits its references")
        scale = self._ladder.nearest(sizes)
        key = kind is FrameKind.KEY
        scene, samples = self._history.look(
            luma, key=key, reference_id=reference_id, pixels=math.prod(sizes[scale])
        )
        if key:
            scale = self._key_scale(scene, sizes, now_us)
            scene = scaled(scene, sizes[scale])
        situation = self._situation(kind, now_us, scene)
        hard_bits = self._vbv.room_bits(self._settings.bound_us, now_us=now_us)
        if self._no_room(scene, hard_bits, now_us):
            return Drop(reason=DropReason.BACKLOG)
        quantizer = self._steering.choose(situation, self._model)
        expected = self._model.bits(scene, coarse=coarseness(quantizer))
        plan = FramePlan(
            kind=kind,
            quantizer=quantizer,
            scale=scale,
            target_bps=self._own_control_target(now_us),
            target_bits=round(expected),
            cap_bits=min(self._soft_bits(kind, now_us, SPARE_US), hard_bits),
            hard_cap_bits=hard_bits,
        )
        self._attempt = Attempt(
            now_us=now_us,
            frame_id=frame_id,
            plan=plan,
            sizes=sizes,
            samples=samples,
            scene=scene,
            quantizer=quantizer,
            scale=scale,
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
            return self._send(attempt, size_bits)
        if size_bits <= attempt.within(self._settings):
            return self._send_learned(attempt, size_bits)
        retry = next_try(attempt, size_bits, model=self._model, settings=self._settings)
        self._learn(attempt, size_bits)
        if retry is not None and attempt.tries < self._settings.max_tries:
            attempt.begin(retry)
            return retry
        waiting_helps = self._vbv.delay_us(attempt.now_us) > 0
        if size_bits <= attempt.plan.hard_cap_bits or (retry is None and not waiting_helps):
            return self._send_learned(attempt, size_bits)
        self._attempt = None
        return Drop(reason=DropReason.TOO_LARGE)

    def _send_learned(self, attempt: Attempt, size_bits: int) -> Send:
        self._learn(attempt, size_bits)
        before = self._ladder.scale
        key = attempt.plan.kind is FrameKind.KEY
        if key or attempt.scale != attempt.plan.scale:
            self._ladder.forced(attempt.scale)
        if not key:
            demand = self._model.demand(attempt.scene)
            self._steering.observed(demand, kind=attempt.plan.kind, gap_us=self._clock.gap_us)
            if attempt.scale == self._ladder.scale:
                self._ladder.steered(self._steering.base_quantizer, now_us=attempt.now_us)
        if self._ladder.scale != before:
            self._steering.rescaled(float(self._ladder.scale / before) ** 2)
        self._quantizer = attempt.quantizer
        return self._send(attempt, size_bits)

    def _send(self, attempt: Attempt, size_bits: int) -> Send:
        self._vbv.add(size_bits, now_us=attempt.now_us)
        shown = self._model.shown(attempt.scene, quantizer=attempt.quantizer, bits=size_bits)
        self._history.sent(
            attempt.frame_id, scene=attempt.scene, samples=attempt.samples, coarse=shown
        )
        self._attempt = None
        return Send(vbv_delay_us=self._vbv.delay_us(attempt.now_us))

    def _learn(self, attempt: Attempt, size_bits: int) -> None:
        self._model.observe(attempt.scene, quantizer=attempt.quantizer, bits=size_bits)

    def _key_scale(self, scene: Scene, sizes: Mapping[Fraction, Size], now_us: int) -> Fraction:
        """No larger than other frames, and small enough for a useful quantizer."""
        below = {scale: size for scale, size in sizes.items() if scale <= self._ladder.scale}
        bits = self._planned_room(FrameKind.KEY, now_us)
        return largest_useful(scene, below or sizes, bits=bits, model=self._model)[0]

    def _situation(self, kind: FrameKind, now_us: int, scene: Scene) -> Situation:
        return Situation(
            kind=kind,
            target_bps=self.target_bps,
            gap_us=self._clock.gap_us,
            level_bits=self._vbv.backlog_bits(now_us) - self._credit_bits,
            room_bits=self._planned_room(kind, now_us),
            scene=scene,
        )

    def _planned_room(self, kind: FrameKind, now_us: int) -> int:
        if kind is FrameKind.KEY:
            return self._vbv.room_bits(self._settings.key_delay_us, now_us=now_us)
        return round(AIM * self._soft_bits(kind, now_us))

    def _soft_bits(self, kind: FrameKind, now_us: int, spare_us: int = 0) -> int:
        """Room under the kind's soft bound; after a key frame, enough to work the backlog off."""
        if kind is FrameKind.KEY:
            return self._vbv.room_bits(KEY_CAP_US, now_us=now_us)
        # At few pictures a second an even share alone exceeds the soft bound. Plans take AIM of it.
        share_us = round(self._clock.gap_us / AIM) + self._settings.residual_us
        bound_us = max(self._settings.soft_bound_us, share_us) + spare_us
        soft = self._vbv.room_bits(min(bound_us, self._settings.bound_us), now_us=now_us)
        return max(soft, round(SHARE_MIN * self.target_bps * self._clock.gap_us / MICRO))

    def _no_room(self, scene: Scene, hard_bits: int, now_us: int) -> bool:
        """Whether even the coarsest frame would break the bound, and waiting helps."""
        if self._vbv.delay_us(now_us) == 0:
            return False
        coarsest = coarseness(self._settings.max_quantizer)
        least = self._model.bits(scene, coarse=coarsest) / 2
        return hard_bits < max(least, OVERHEAD_BITS)

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
