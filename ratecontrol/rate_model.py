"""How many bits a frame takes at a quantizer: predicted from pixels, corrected by what came out.

With x the quantizer's coarseness, r that of what the reference shows, p the coded pixels and payload
the bits beyond OVERHEAD_BITS:

    key frame    payload = key(x) = 2 ^ (K + KEY_DETAIL detail + KEY_SIZE log2 p - KEY_FALL x)
    other frame  payload = news + refinement
                 news       = 2 ^ (D + CHANGE change + SIZE log2 p - FALL x - COARSER max(0, x - r))
                 refinement = R (key(x) - key(r)), if finer than the reference by more than SLACK

News is what changed since the reference; refinement is what a finer quantizer adds to all that did
not. The second is why a frame a few steps finer than its reference can take several times the bits of
its neighbours. K, D and R follow the stream.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .quantizer_scale import QUANTIZER_MAX, coarseness

# Ours: headers and skipped blocks, the part of a frame that no quantizer takes away.
OVERHEAD_BITS = 150
# Ours: fitted to 200 key frames of 11 clips from 64x64 to 1280x720; error 0.20 (one sigma of log2).
KEY_START = 9.15
KEY_FALL = 0.864
KEY_DETAIL = 0.70
KEY_SIZE = 0.58
# Ours: fitted to 28 traces of 300 frames at wandering quantizers: mean error of log2 0.35, against
# 0.58 without the change of pixels and 0.61 without what the reference shows.
NEWS_START = 8.6
FALL = 1.16
COARSER = 0.75
CHANGE = 0.57
SIZE = 0.765
REFINEMENT_START = -0.9
SLACK = 0.06
# Ours, from the same fit: how much of what it shows a frame takes over at its own quantizer. A
# coarser frame leaves alone what did not change, a finer one improves what its bits pay for.
TAKEN_COARSER = 0.57
TAKEN_COARSER_PER_KEY = 3.9
TAKEN_FINER = 0.88
GAIN = 0.3
GAIN_REFINEMENT = 0.25
GAIN_KEY = 0.5
GAIN_FIRST = 0.8
JUMP = 0.5
MEAN_GAIN = 0.15
WEIGHT_SOME = 0.3
MAX_ERROR = 1.5
REFINEMENT_MIN, REFINEMENT_MAX = -5.0, 0.7
# Ours: a frame with a smaller payload than this says little of the content.
PAYLOAD_FLOOR = 64.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A picture as the model sees it: log_change is None for a key frame, which has no reference."""

    log_detail: float
    log_change: float | None
    reference_coarseness: float
    log_pixels: float


@dataclass(slots=True, kw_only=True)
class Curve:
    """Expected payload of one picture over coarseness; its logarithms at coarseness 0.

    log_news is None for a key frame, which is all news.
    """

    log_key: float
    log_news: float | None
    log_refinement: float
    reference: float

    def news(self, coarse: float) -> float:
        """Bits of what changed."""
        if self.log_news is None:
            return math.exp2(self.log_key - KEY_FALL * coarse)
        coarser = coarse - self.reference
        log_bits = self.log_news - FALL * coarse
        return math.exp2(log_bits - COARSER * coarser if coarser > 0.0 else log_bits)

    def refinement(self, coarse: float) -> float:
        """Bits of what did not change, at a coarseness below the reference's."""
        finer = self.reference - coarse - SLACK
        if finer <= 0.0 or self.log_news is None:
            return 0.0
        log_bits = self.log_refinement + self.log_key - KEY_FALL * coarse
        return math.exp2(log_bits) * (1.0 - math.exp2(-KEY_FALL * finer))

    def bits(self, coarse: float) -> float:
        """Bits of the whole frame."""
        return OVERHEAD_BITS + self.news(coarse) + self.refinement(coarse)


class RateModel:
    """Predicts and learns. One for each stream."""

    def __init__(self) -> None:
        self._key = KEY_START
        self._news = NEWS_START
        self._refinement = REFINEMENT_START
        self._mean_change: float | None = None
        self._frames = 0
        self._last_error = 0.0

    def curve(self, scene: Scene) -> Curve:
        """What a frame of this picture is expected to take, at every coarseness."""
        size = KEY_SIZE * scene.log_pixels
        return Curve(
            log_key=self._key + KEY_DETAIL * scene.log_detail + size,
            log_news=None if scene.log_change is None else self.demand(scene),
            log_refinement=self._refinement,
            reference=scene.reference_coarseness,
        )

    def bits(self, scene: Scene, *, coarse: float) -> float:
        """Expected size of the frame at this coarseness."""
        return self.curve(scene).bits(coarse)

    def demand(self, scene: Scene) -> float:
        """log2 of the news of frames like this at coarseness 0, among others of their quantizer."""
        change = 0.0 if scene.log_change is None else scene.log_change
        return self._news + CHANGE * change + SIZE * scene.log_pixels

    def quantizer_for(self, scene: Scene, *, bits: float) -> int:
        """The finest quantizer at which the frame is expected to take at most this many bits."""
        curve = self.curve(scene)
        low, high = 0, QUANTIZER_MAX
        while low < high:
            middle = (low + high) // 2
            if curve.bits(coarseness(middle)) <= bits:
                high = middle
            else:
                low = middle + 1
        return low

    def error(self, scene: Scene, *, quantizer: int, bits: int) -> float:
        """log2 of the payload that came out over the payload expected."""
        expected = self.bits(scene, coarse=coarseness(quantizer)) - OVERHEAD_BITS
        return math.log2(max(bits - OVERHEAD_BITS, 8.0) / max(expected, 8.0))

    def observe(self, scene: Scene, *, quantizer: int, bits: int) -> None:
        """Learn from a frame that was encoded."""
        error = self.error(scene, quantizer=quantizer, bits=bits)
        bounded = min(max(error, -MAX_ERROR), MAX_ERROR)
        if scene.log_change is None:
            self._key += GAIN_KEY * bounded
            return
        curve, coarse = self.curve(scene), coarseness(quantizer)
        news, refinement = curve.news(coarse), curve.refinement(coarse)
        share = news / (news + refinement)
        weight = self._weight(scene.log_change)
        self._news += self._gain(error, bits) * bounded * weight * share
        if refinement > 0:
            moved = self._refinement + GAIN_REFINEMENT * bounded * weight * (1.0 - share)
            self._refinement = min(max(moved, REFINEMENT_MIN), REFINEMENT_MAX)
        self._frames += 1
        if weight > WEIGHT_SOME:
            self._last_error = error

    def shown(self, scene: Scene, *, quantizer: int, bits: int) -> float:
        """Coarseness of what a sent frame of this size shows, its reference's part included."""
        coarse = coarseness(quantizer)
        if scene.log_change is None:
            return coarse
        curve = self.curve(scene)
        step = coarse - scene.reference_coarseness
        payload = max(bits - OVERHEAD_BITS, 8.0)
        if step > 0:
            key_payload = math.exp2(curve.log_key - KEY_FALL * coarse)
            per_key = TAKEN_COARSER_PER_KEY * payload / key_payload
            return scene.reference_coarseness + step * min(TAKEN_COARSER, per_key)
        news, refinement = curve.news(coarse), curve.refinement(coarse)
        share = news / (news + refinement)
        paid = 1.0 if refinement <= 0 else payload * (1.0 - share) / refinement
        taken = share * TAKEN_FINER + (1.0 - share) * min(TAKEN_FINER, paid)
        return scene.reference_coarseness + step * taken

    def _weight(self, log_change: float) -> float:
        """1 for a usual picture, less for one that hardly changed, which says as much less."""
        change = math.exp2(CHANGE * log_change)
        if self._mean_change is None:
            self._mean_change = change
        self._mean_change += MEAN_GAIN * (change - self._mean_change)
        return min(1.0, change / self._mean_change)

    def _gain(self, error: float, bits: int) -> float:
        if bits < OVERHEAD_BITS + PAYLOAD_FLOOR:
            return GAIN / 8
        if self._frames < 2:
            return GAIN_FIRST
        sustained = error * self._last_error > 0 and min(abs(error), abs(self._last_error)) > JUMP
        return 2 * GAIN if sustained else GAIN
