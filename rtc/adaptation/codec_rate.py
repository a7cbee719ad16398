"""The rate's constraint on the codec: H.264 where it holds its delay, in the order that the application named."""

from __future__ import annotations

from collections.abc import Sequence

from ...codecs.types import Codec
from .codec_ladder import BACK_RATIO, CodecLadder, held_by_h264_bps
from .decisions import AdaptationReason, Refusal
from .operation import Operation
from .situation import Situation, Step

# Ours: so far above the least rate H.264 is taken where AV1 cannot be used. Nearer to it the first dip ends it again.
ENTER_RATIO = 1.2
_RATIOS = {Step.LEAVE: ENTER_RATIO, Step.IMPROVE: BACK_RATIO}


class CodecRate:
    """Follows the rate by CodecLadder."""

    reason = AdaptationReason.RATE

    def __init__(self, codecs: Sequence[Codec]) -> None:
        """codecs are in the application's order."""
        self._ladder = CodecLadder(codecs)
        self._preferred = codecs[0]
        self._is_too_low = False
        """For H.264 of the full size; a smaller one may hold it yet."""

    def follow(self, situation: Situation) -> None:
        """A picture is to be coded; asked once for each."""
        used = situation.used.codec
        proposed = self._ladder.propose(
            used,
            target_bps=situation.target_bps,
            picture=situation.size,
            now_us=situation.now_us,
        )
        if proposed is not used:
            self._preferred = proposed
            self._is_too_low = used is Codec.H264
        elif situation.target_bps >= held_by_h264_bps(situation.size):
            self._is_too_low = False

    def refuses(
        self, operation: Operation, situation: Situation, step: Step, *, strictly: bool
    ) -> Refusal | None:
        """See Constraint; in its weaker form the application's order gives way."""
        held_bps = held_by_h264_bps(_size(operation, situation))
        if operation.codec is Codec.AV1:
            if not strictly or self._preferred is Codec.AV1:
                return None
            return Refusal(operation=operation, constraint="application's order")
        if step is Step.KEEP:
            is_refused = self._is_too_low and situation.target_bps < held_bps
        else:
            is_other = situation.used.codec is not operation.codec
            held_bps = round(held_bps * (_RATIOS[step] if is_other else 1))
            is_refused = situation.target_bps < held_bps
        if not is_refused:
            return None
        return Refusal(
            operation=operation, constraint="rate", value=situation.target_bps, limit=held_bps
        )


def _size(operation: Operation, situation: Situation) -> tuple[int, int]:
    width, height = situation.size
    return round(width * operation.scale), round(height * operation.scale)
