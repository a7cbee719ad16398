"""The one place where it is decided how a stream survives loss: layers, FEC, references, answers to NACKs.

Pure: what is known comes in, decisions with their reasons come out.
"""

from __future__ import annotations

from dataclasses import dataclass

from .decisions import Action, Decision, Reason
from .fec_plan import NO_FEC, FecPlan, fec_plan
from .loss_monitor import Loss
from .nack import DEFAULT_RTT_US, MAX_DISCARDABLE_RTT_US
from .settings import ResilienceSettings, Switch

# ours: what loss_monitor calls recent; two seconds of a call at 30 kbps are 60 packets.
RECENT_US = 2_000_000
# ours: layers cost 7 to 8 % of the rate, which pays where one packet in fifty is lost, and goes on
# paying a while, since losses come in spells.
LAYERS_ON_RATIO = 0.02
LAYERS_OFF_RATIO = 0.01
LAYERS_KEEP_US = 10_000_000
# ours: the periodic frame of higher quality, a second apart, as the frame controller's budget for it assumes.
LTR_INTERVAL_US = 1_000_000
# ours: as long as this after a loss the next one is expected.
LOSSY_US = 10_000_000
# ours: the pins in passing. Three of the slot book's four turn over while the acknowledged one stays,
# so each is held for three intervals, in which its acknowledgement has to come.
PIN_INTERVAL_US = 100_000
PINS_TURNING = 3
# ours: decoding, a frame to carry the acknowledgement, and one to wait for the encoder.
ACKNOWLEDGE_US = 120_000
# ours: below this a retransmission is there sooner than a recovery frame would be.
QUICK_RTT_US = 60_000
# ours: going on before a loss is known pays from so much loss on, and where an answer takes longer than a
# frame interval or two. 30 s of the webcam clip at 800 kbps with 5 % lost froze, without and with it, 1.6 and
# 0.1 s at a round trip of 100 ms, 2.5 and 0.7 s at 300 ms; in bursts of 4 4.2 and 1.2 s, 6.8 and 2.4 s.
PROACTIVE_RATIO = 0.02
PROACTIVE_RTT_US = 80_000
# ours: once a round trip at this loss, more often in proportion, up to each base frame of two layers at 30 fps:
# the next one is planned less than 66.7 ms after the one before was encoded. With 66 ms, each second one
# was, and bursts of 4 froze 2.7 s of 40 s in place of 1.5 s.
PROACTIVE_ROUND_RATIO = 0.0125
PROACTIVE_INTERVAL_US = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known when a picture is to be encoded.

    key and recovery name why a key frame, or a frame that needs nothing lost, was asked for; None
    when it was not. damage is how many lost packets nothing covers, 2 for more; ltr_age_us is the age of the
    newest acknowledged reference, None without one that could be read. pinned_us is when a reference
    was sent last, finer_us the last one of higher quality, recovered_us the last recovery frame.
    """

    now_us: int
    rtt_us: int | None
    loss: Loss
    key: Reason | None
    recovery: Reason | None
    damage: int
    ltr_age_us: int | None
    pinned_us: int | None
    finer_us: int | None
    recovered_us: int | None
    has_references: bool
    """Whether the codec and the peer can go on from long-term references."""
    may_be_upper: bool
    """Whether the frame before was one of the base layer, as the one after an upper one must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturePlan:
    """What the next frame is. reason is why it is a key or recovery frame; None for other frames."""

    key: bool = False
    from_ltr: bool = False
    ltr: bool = False
    finer: bool = False
    temporal_id: int = 0
    reason: Reason | None = None


class ResiliencePolicy:
    """Decides for one stream. It remembers what has hysteresis and nothing else."""

    def __init__(self, settings: ResilienceSettings) -> None:
        self.settings = settings
        self.has_layers = False
        """Whether every second frame is one that no other reads."""
        self.fec: FecPlan = NO_FEC
        """How the base layer is protected."""
        self._calm_since_us: int | None = None
        self._lossy_until_us: int | None = None

    def observe(
        self, loss: Loss, *, rtt_us: int | None, can_layer: bool, can_fec: bool, now_us: int
    ) -> list[Decision]:
        """Follow the path's losses; what changed by them."""
        if loss.recent_ratio > 0:
            self._lossy_until_us = now_us + LOSSY_US
        decisions = []
        layers, reason = self._layers(loss, now_us=now_us)
        layers = layers and can_layer
        if layers != self.has_layers:
            self.has_layers = layers
            decisions.append(
                Decision(now_us=now_us, action=Action.LAYERS, reason=reason, value=1 + layers)
            )
        plan = self._fec_plan(loss, rtt_us) if can_fec else NO_FEC
        if plan != self.fec:
            self.fec = plan
            decisions.append(self._fec_decision(plan, now_us=now_us))
        return decisions

    def picture(self, situation: Situation) -> PicturePlan:
        """What the next frame is to be."""
        if situation.key is not None:
            return PicturePlan(key=True, reason=situation.key)
        recovery = self._recovery(situation)
        if recovery is not None and situation.ltr_age_us is None:
            return PicturePlan(key=True, reason=recovery)
        can_wait = recovery in (None, Reason.PROACTIVE)
        if self.has_layers and situation.may_be_upper and can_wait:
            return PicturePlan(temporal_id=1)
        finer = _is_finer_due(situation)
        pinned = situation.has_references and self._is_pin_due(situation)
        return PicturePlan(
            from_ltr=recovery is not None, ltr=finer or pinned, finer=finer, reason=recovery
        )

    def repairs_upper(self, rtt_us: int | None) -> bool:
        """Whether packets of the upper layer are sent again when asked for."""
        return (DEFAULT_RTT_US if rtt_us is None else rtt_us) <= MAX_DISCARDABLE_RTT_US

    def _layers(self, loss: Loss, *, now_us: int) -> tuple[bool, Reason]:
        switch = self.settings.temporal_layers
        if switch is not Switch.AUTO:
            return switch is Switch.ON, Reason.SETTING
        if max(loss.recent_ratio, loss.lasting_ratio) >= LAYERS_OFF_RATIO:
            self._calm_since_us = None
        elif self._calm_since_us is None:
            self._calm_since_us = now_us
        if not self.has_layers:
            return loss.recent_ratio >= LAYERS_ON_RATIO, Reason.LOSS_RATIO
        calm_us = 0 if self._calm_since_us is None else now_us - self._calm_since_us
        return calm_us < LAYERS_KEEP_US, Reason.LOSS_GONE

    def _fec_plan(self, loss: Loss, rtt_us: int | None) -> FecPlan:
        return fec_plan(loss, before=self.fec, rtt_us=rtt_us, switch=self.settings.fec)

    def _fec_decision(self, plan: FecPlan, *, now_us: int) -> Decision:
        reason = Reason.LOSS_RATIO if plan.percent else Reason.LOSS_GONE
        if self.settings.fec is not Switch.AUTO:
            reason = Reason.SETTING
        return Decision(now_us=now_us, action=Action.FEC, reason=reason, value=plan.percent)

    def _recovery(self, situation: Situation) -> Reason | None:
        """Why the next frame must need nothing that was lost; None when it need not."""
        if situation.recovery is not None:
            return situation.recovery
        if not situation.has_references or situation.ltr_age_us is None:
            return None
        rtt_us = DEFAULT_RTT_US if situation.rtt_us is None else situation.rtt_us
        recovered_us = situation.recovered_us
        since_us = None if recovered_us is None else situation.now_us - recovered_us
        may_react = since_us is None or since_us >= rtt_us
        if may_react and situation.damage > 1:
            return Reason.BURST
        if may_react and situation.damage and rtt_us >= QUICK_RTT_US:
            return Reason.LOSS
        is_due = since_us is None or since_us >= _spacing_us(situation.loss, rtt_us)
        return Reason.PROACTIVE if is_due and self._is_proactive(situation, rtt_us) else None

    def _is_proactive(self, situation: Situation, rtt_us: int) -> bool:
        switch = self.settings.ltr_proactive
        if switch is not Switch.AUTO:
            return switch is Switch.ON
        return situation.loss.ratio >= PROACTIVE_RATIO and rtt_us >= PROACTIVE_RTT_US

    def _is_pin_due(self, situation: Situation) -> bool:
        if self._lossy_until_us is None or situation.now_us >= self._lossy_until_us:
            return False
        rtt_us = DEFAULT_RTT_US if situation.rtt_us is None else situation.rtt_us
        interval_us = max(PIN_INTERVAL_US, (rtt_us + ACKNOWLEDGE_US) // PINS_TURNING)
        return situation.pinned_us is None or situation.now_us - situation.pinned_us >= interval_us


def _is_finer_due(situation: Situation) -> bool:
    finer_us = situation.finer_us
    return finer_us is None or situation.now_us - finer_us >= LTR_INTERVAL_US


def _spacing_us(loss: Loss, rtt_us: int) -> int:
    """How long after a recovery frame the next one comes whatever is known."""
    ratio = max(loss.ratio, PROACTIVE_ROUND_RATIO)
    return max(PROACTIVE_INTERVAL_US, round(rtt_us * PROACTIVE_ROUND_RATIO / ratio))
