"""The one place where an operation is chosen: constraints veto, and of what is left the best is taken, in one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...codecs.types import Codec
from .codec_hold import CodecHold
from .decisions import AdaptationReason, Refusal
from .encode_time import EncodeTime
from .operation import Operation
from .patience import Patience
from .quality import expected_db
from .situation import Constraint, Situation, Step

# Ours: how often better operations are looked for; it takes about 0.2 ms.
LOOK_US = 250_000
# Ours: how long one must have been at hand. Doubles where it fails; former quality is back well within 15 s.
IMPROVE_US = 4_000_000
IMPROVE_MAX_US = 480_000_000
# Ours: what lasts so long did not fail, nor what ended because the device became slower by so much.
PROVEN_US = 60_000_000
SLOWER = 1.35
# Ours: what is to be won at least by another operation, and by another codec, which costs a key frame.
GAIN_DB = 0.05
CODEC_GAIN_DB = 0.3
# Ours: refusals told with a decision, the best operations' first.
MAX_REFUSALS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Another operation than the one in use, and why."""

    operation: Operation
    reason: AdaptationReason
    improves: bool = False
    value: float | None = None
    refused: tuple[Refusal, ...] = ()


class Selector:
    """Chooses for one stream; whoever asks takes what it chooses."""

    def __init__(
        self, *, constraints: Sequence[Constraint], encode_time: EncodeTime, now_us: int
    ) -> None:
        """The first of the constraints that refuses the operation in use names the reason."""
        self._hold = CodecHold(now_us=now_us)
        self._constraints = constraints
        self._encode_time = encode_time
        self._patience = Patience(IMPROVE_US, max_us=IMPROVE_MAX_US, proven_us=PROVEN_US)
        self._improvement: tuple[int, float] | None = None
        """When the last better operation was taken, and how slow the device was."""
        self._better_since_us: int | None = None
        self._left_for: AdaptationReason | None = None
        """Why the codec was left that is not in use."""
        self._lowered_for: AdaptationReason | None = None
        """Why a better operation was left."""
        self._leave_us = self._look_us = now_us

    def choose(self, options: Sequence[Operation], situation: Situation) -> Choice | None:
        """Another operation for the next picture, or None. Asked for each picture."""
        now_us = situation.now_us
        if situation.used not in options:
            return self._taken(self._forced(options, situation), situation)
        against = self._against(situation)
        if against is not None and now_us >= self._leave_us:
            self._leave_us = now_us + LOOK_US
            choice = self._leave(options, situation, against)
            if choice is not None:
                return self._taken(choice, situation)
        if now_us < self._look_us or (against is not None and against.must):
            return None
        self._look_us = now_us + LOOK_US
        return self._taken(self._improved(options, situation), situation)

    def wider(self, options: Sequence[Operation], situation: Situation) -> Choice | None:
        """What would code other pictures than those of now, in a situation of theirs; asked like choose()."""
        used = situation.used
        others = [
            option
            for option in options
            if option.codec is used.codec
            and option.scale >= used.scale
            and option.every <= used.every
        ]
        best, _ = self._best(others, situation, Step.IMPROVE, must=False)
        if best is None or not self._encode_time.costs.is_known:
            return None
        ratio = self._encode_time.ratio(best, situation)
        return Choice(
            operation=best, reason=AdaptationReason.SPARE_TIME, improves=True, value=ratio
        )

    def widened(self, choice: Choice, *, now_us: int) -> None:
        """That was taken."""
        self._improvement = now_us, self._encode_time.costs.slowness
        self._better_since_us = None
        self._leave_us = self._look_us = now_us

    def _against(self, situation: Situation) -> _Against | None:
        """What speaks against the operation in use."""
        for must in (True, False):
            for constraint in self._constraints:
                refusal = constraint.refuses(
                    situation.used, situation, Step.KEEP, strictly=not must
                )
                if refusal is not None:
                    return _Against(reason=constraint.reason, refusal=refusal, must=must)
        return None

    def _forced(self, options: Sequence[Operation], situation: Situation) -> Choice:
        """The application allows the one in use no longer; its codec stays if it may."""
        used = situation.used.codec
        of_same_codec = [option for option in options if option.codec is used]
        best, refused = self._best(of_same_codec, situation, Step.LEAVE)
        if best is None:
            best, refused = self._best(options, situation, Step.LEAVE)
        operation = best or self._cheapest(options, situation)
        return Choice(operation=operation, reason=AdaptationReason.APPLICATION, refused=refused)

    def _leave(
        self, options: Sequence[Operation], situation: Situation, against: _Against
    ) -> Choice | None:
        others = [option for option in options if option != situation.used]
        if not against.must:
            others = [option for option in others if not self._is_held(option, situation)]
        best, refused = self._best(others, situation, Step.LEAVE, must=against.must)
        if best is None and against.must and against.reason is AdaptationReason.ENCODE_LATENCY:
            best = self._cheapest(options, situation)
        if best is None or best == situation.used:
            return None
        return Choice(
            operation=best, reason=against.reason, value=against.refusal.value, refused=refused
        )

    def _improved(self, options: Sequence[Operation], situation: Situation) -> Choice | None:
        """A better operation that has been at hand for long enough."""
        used, used_db = situation.used, expected_db(situation.used, situation)
        options = _instead(options, situation)
        better = [
            option
            for option in options
            if expected_db(option, situation)
            > used_db + (GAIN_DB if option.codec is used.codec else CODEC_GAIN_DB)
            and not self._is_held(option, situation)
        ]
        is_known = self._encode_time.costs.is_known
        best, _ = self._best(better, situation, Step.IMPROVE, must=False)
        if best is None or not is_known:
            self._better_since_us = None
            return None
        if self._better_since_us is None:
            self._better_since_us = situation.now_us
        cause = self._lowered_for if best.codec is used.codec else self._left_for
        reason = _RECOVERED.get(cause, AdaptationReason.SPARE_TIME)
        # Power that is back is no matter of measuring.
        hold_us = 0 if reason is AdaptationReason.POWER else self._patience.hold_us
        if situation.now_us - self._better_since_us < hold_us:
            return None
        ratio = self._encode_time.ratio(best, situation)
        return Choice(operation=best, reason=reason, improves=True, value=ratio)

    def _best(
        self,
        options: Sequence[Operation],
        situation: Situation,
        step: Step,
        *,
        must: bool = True,
    ) -> tuple[Operation | None, tuple[Refusal, ...]]:
        """The best that nothing refuses, or with must the best that nothing refuses in its weaker form."""
        refused: list[Refusal] = []
        second: Operation | None = None
        for option in sorted(options, key=lambda o: expected_db(o, situation), reverse=True):
            refusal = self._refusal(option, situation, step, strictly=True)
            if refusal is None:
                return option, tuple(refused[:MAX_REFUSALS])
            refused.append(refusal)
            if must and second is None:
                weaker = self._refusal(option, situation, step, strictly=False)
                second = option if weaker is None else None
        return second, tuple(refused[:MAX_REFUSALS])

    def _refusal(
        self, option: Operation, situation: Situation, step: Step, *, strictly: bool
    ) -> Refusal | None:
        for constraint in self._constraints:
            refusal = constraint.refuses(option, situation, step, strictly=strictly)
            if refusal is not None:
                return refusal
        return None

    def _is_held(self, option: Operation, situation: Situation) -> bool:
        return option.codec is not situation.used.codec and self._hold.holds(situation.now_us)

    def _cheapest(self, options: Sequence[Operation], situation: Situation) -> Operation:
        """The one that takes the least of its frame interval; of the same, the best."""
        return min(
            options,
            key=lambda option: (
                self._encode_time.ratio(option, situation),
                -expected_db(option, situation),
            ),
        )

    def _taken(self, choice: Choice | None, situation: Situation) -> Choice | None:
        """Remember what was chosen, and when."""
        if choice is None:
            return None
        now_us = situation.now_us
        if choice.improves:
            self._improvement = now_us, self._encode_time.costs.slowness
        elif self._improvement is not None:
            self._judge(*self._improvement, now_us=now_us)
            self._improvement = None
        self._lowered_for = None if choice.improves else choice.reason
        if choice.operation.codec is not situation.used.codec:
            is_battery = choice.reason is AdaptationReason.BATTERY
            self._hold.switched(improves=choice.improves, may_return=is_battery, now_us=now_us)
            self._left_for = choice.reason
        self._better_since_us = None
        self._leave_us = self._look_us = now_us
        return choice

    def _judge(self, improved_us: int, slowness: float, *, now_us: int) -> None:
        """What was taken for better has been left: it failed, unless there is another reason."""
        is_slower = self._encode_time.costs.slowness > SLOWER * slowness
        self._patience.ended(PROVEN_US if is_slower else now_us - improved_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Against:
    """What speaks against the operation in use; must: it cannot even stay for want of another."""

    reason: AdaptationReason
    refusal: Refusal
    must: bool


def _instead(options: Sequence[Operation], situation: Situation) -> Sequence[Operation]:
    """What may be better than the operation in use: H.264 is only for want of AV1's best.

    Where the application named H.264 first, the rate has its say on that.
    """
    av1 = [option for option in options if option.codec is Codec.AV1]
    if not av1 or options[0].codec is not Codec.AV1:
        return options
    best = max(av1, key=lambda option: expected_db(option, situation))
    return av1 if situation.used == best else options


_RECOVERED: dict[AdaptationReason | None, AdaptationReason] = {
    AdaptationReason.PEER_DECODE: AdaptationReason.PEER_RECOVERED,
    AdaptationReason.BATTERY: AdaptationReason.POWER,
}
