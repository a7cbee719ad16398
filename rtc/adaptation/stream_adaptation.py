"""Adaptation of one stream: which pictures are sent, with which operation, and what is said of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from ...codecs.types import Codec, Content, EncodedFrame, Picture
from ...ratecontrol.frame_rate import FrameRateLadder
from ...ratecontrol.ladder import coded_size
from ..messages import NegotiatedCodec
from ..stats import OutboundCounters
from .decisions import AdaptationDecision, AdaptationReason
from .encode_time import CodedFrame
from .limits import limited_every, limited_size
from .operation import Operation
from .operation_control import OperationControl
from .operations import codable_scale, nearest_scale
from .quality_limitation import QualityLimitation, QualityLimitationReason
from .selector import Choice
from .settings import AdaptationSettings, SenderLimits
from .start_hold import StartHold

# Ours: decisions that nobody takes are forgotten, the oldest first.
MAX_DECISIONS = 256

_LIMITS: dict[AdaptationReason | None, QualityLimitationReason] = {
    AdaptationReason.ENCODE_LATENCY: QualityLimitationReason.CPU,
    AdaptationReason.CPU_PRESSURE: QualityLimitationReason.CPU,
    AdaptationReason.PEER_DECODE: QualityLimitationReason.OTHER,
    AdaptationReason.BATTERY: QualityLimitationReason.OTHER,
    AdaptationReason.PRIOR: QualityLimitationReason.OTHER,
}
"""What statistics call what a device holds a stream back for."""


class StreamAdaptation:
    """Follows one stream. Counts into its counters what it decides."""

    def __init__(
        self,
        *,
        codecs: Sequence[NegotiatedCodec],
        preset: str,
        content: Content,
        settings: AdaptationSettings,
        counters: OutboundCounters,
        now_us: int,
    ) -> None:
        """codecs are in the application's order; preset is the best to use, or "auto"."""
        # Of several payload types of one codec, such as H.264's profiles, the first is sent.
        self._codecs: dict[Codec, NegotiatedCodec] = {}
        for negotiated in codecs:
            self._codecs.setdefault(negotiated.codec, negotiated)
        self.control = OperationControl(
            tuple(self._codecs), preset=preset, content=content, settings=settings, now_us=now_us
        )
        self.limits = SenderLimits()
        self._start = StartHold(settings.start if settings.enabled else None)
        self.limitation = QualityLimitation(now_us=now_us)
        self._counters = counters
        self._frame_rate = FrameRateLadder()
        self._decisions: deque[AdaptationDecision] = deque(maxlen=MAX_DECISIONS)
        self._told: AdaptationDecision | None = None

    @property
    def codec(self) -> NegotiatedCodec:
        """What the next picture is encoded with."""
        return self._codecs[self.control.used.codec]

    @property
    def operation(self) -> Operation:
        """What the next picture is coded with; every counts what is left out for whatever reason."""
        return replace(self.control.used, every=self._every)

    @property
    def reason(self) -> AdaptationReason:
        """Why that is so."""
        return self.control.reason

    def set_codec(self, codec: Codec | None) -> None:
        """Use this negotiated codec from the next picture on; None leaves it to adaptation again."""
        self.control.wishes.set_codec(codec)

    def size(self, picture: Picture) -> tuple[int, int]:
        """The width and height that the application's limits, and the start, leave of a picture."""
        return self._start.size(self._allowed_size(picture))

    def takes(self, picture: Picture, *, at_once: bool) -> bool:
        """Whether to send a captured picture.

        at_once is for one that cannot wait, such as a key frame that was asked for.
        """
        self._counters.framesCaptured += 1
        taken = self._frame_rate.keeps(
            picture.capture_us, at_once=at_once, at_least=self._least_every
        )
        self._counters.framesLeftOut += not taken
        return taken

    def taken(self, *, is_busy: bool, now_us: int) -> None:
        """A picture was taken; is_busy: the one before was still waiting for the encoder."""
        self.limitation.picture(replaced=is_busy, now_us=now_us)
        self._counters.qualityLimitationReason = self.limitation.reason

    def decide(
        self, picture: Picture, *, target_bps: int, max_bps: int, layers: int, now_us: int
    ) -> None:
        """This picture is to be coded next, at target_bps where the application would have max_bps.

        Sets its operation, and the pace of those after it.
        """
        self._frame_rate.decide(target_bps, now_us=now_us)
        before = self.control.used.codec
        widened = self._widened(picture, target_bps=target_bps, now_us=now_us)
        choice = widened or self.control.decide(
            size=self.size(picture),
            gap_us=self._frame_rate.gap_us,
            every=max(self._frame_rate.every, self._limit_every),
            target_bps=target_bps,
            now_us=now_us,
        )
        is_other = self.control.used.codec is not before
        self._counters.codecSwitches += is_other and self._told is not None
        self.limitation.rate(target_bps, max_bps=max_bps, now_us=now_us)
        held_by = self.control.held_by
        if held_by is None and self._is_start_held(picture):
            held_by = AdaptationReason.PRIOR
        self.limitation.device(_LIMITS.get(held_by), now_us=now_us)
        self._counters.qualityLimitationReason = self.limitation.reason
        value = None if choice is None else choice.value
        refused = () if choice is None else choice.refused
        self._tell(
            AdaptationDecision(
                time_us=now_us,
                operation=self.operation,
                size=self._coded_size(picture),
                layers=layers,
                reason=self.reason if choice is not None else self._other_reason(layers),
                value=value,
                refused=refused,
            )
        )

    def coded(
        self, frame: EncodedFrame, *, picture: Picture, took_us: int, is_anchor: bool, now_us: int
    ) -> None:
        """This frame came of that picture, took_us after its job; is_anchor: it takes longer than others."""
        size, of = (frame.width, frame.height), self.size(picture)
        self.limitation.coded(size, picture=of)
        self._counters.qualityLimitationResolutionChanges = self.limitation.resolution_changes
        self.control.coded(
            CodedFrame(
                took_us=took_us,
                encode_us=frame.encode_us,
                tries=frame.tries,
                scale=nearest_scale(frame.width, of[0]),
                pixels=frame.width * frame.height,
                is_anchor=is_anchor,
            ),
            now_us=now_us,
        )

    def poll_decisions(self) -> list[AdaptationDecision]:
        """What was decided since the last call."""
        decisions = list(self._decisions)
        self._decisions.clear()
        return decisions

    def _widened(self, picture: Picture, *, target_bps: int, now_us: int) -> Choice | None:
        """Let go of the start's size and pace, if they hold anything back that fits."""
        if not (self._start.is_due(now_us=now_us) and self._is_start_held(picture)):
            return None
        gap_us = self._frame_rate.gap_us
        choice = self.control.wider(
            size=self._allowed_size(picture),
            gap_us=gap_us,
            every=max(self._frame_rate.every, limited_every(gap_us, self.limits)),
            target_bps=target_bps,
            now_us=now_us,
        )
        if not self._start.may_end(fits=choice is not None, now_us=now_us) or choice is None:
            return None
        self._start.end()
        self.control.widen(choice, now_us=now_us)
        return choice

    def _is_start_held(self, picture: Picture) -> bool:
        """Whether the start holds pictures back, in size or number."""
        gap_us = self._frame_rate.gap_us
        is_fewer = self._start.every(gap_us) > limited_every(gap_us, self.limits)
        return is_fewer or self.size(picture) != self._allowed_size(picture)

    def _allowed_size(self, picture: Picture) -> tuple[int, int]:
        return limited_size((picture.width, picture.height), self.limits)

    @property
    def _limit_every(self) -> int:
        gap_us = self._frame_rate.gap_us
        return max(limited_every(gap_us, self.limits), self._start.every(gap_us))

    @property
    def _least_every(self) -> int:
        return max(self.control.used.every, self._limit_every)

    @property
    def _every(self) -> int:
        return max(self._frame_rate.every, self._least_every)

    def _coded_size(self, picture: Picture) -> tuple[int, int]:
        size, used = self.size(picture), self.control.used
        return coded_size(*size, codable_scale(used.codec, used.scale, size=size))

    def _tell(self, decision: AdaptationDecision) -> None:
        """Say what changed, if anything that the application may see did."""
        told = self._told
        if told is None or _seen(decision) != _seen(told):
            self._decisions.append(decision)
            self._told = decision

    def _other_reason(self, layers: int) -> AdaptationReason:
        """Why something changes that was not chosen here: layers, the pace, or the limits."""
        told = self._told
        if told is None:
            return self.reason
        if layers != told.layers:
            return AdaptationReason.LOSS
        is_pace = self._every != told.operation.every
        is_limit = self._every == self._limit_every > self._frame_rate.every
        return AdaptationReason.RATE if is_pace and not is_limit else AdaptationReason.APPLICATION


def _seen(decision: AdaptationDecision) -> tuple[Operation, tuple[int, int], int]:
    return decision.operation, decision.size, decision.layers
