"""The peer's constraint: frames are to be decoded well within the time from one to the next.

Reports are the peer's word. Whatever they say, AV1 is left and taken up again ever more rarely.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...codecs.types import Codec
from .decisions import AdaptationReason, Refusal
from .decode_report import DecodeReport
from .operation import Operation
from .patience import Patience
from .situation import Situation, Step

# Ours: the parts of the frame interval that decoding takes: too much, what another operation may take
# then, and what a better one may.
BEHIND_RATIO = 0.9
FIT_RATIO = 0.7
SPARE_RATIO = 0.6
# Ours: and what is decoded with the same codec next is clearly less, whatever was to be expected.
LESS = 0.75
# Ours: with frames dropped or waiting, or this much, one report is enough; else it takes two in a row.
CLEARLY_BEHIND_RATIO = 1.2
WAITING_FRAMES = 2
REPORTS = 2
# Ours: frames were dropped though the time of those decoded does not tell: from this part on it counts.
DROPPED_RATIO = 0.6
DROPPED_FRAMES = 3
# Ours: how long after a switch reports may still speak of the codec before.
SETTLE_US = 500_000
REPORT_MAX_US = 2_000_000
# Ours: how long AV1 is left at least where the peer has tried a frame of it and would keep up, and where
# nothing is known but by trying; both double with each return that failed.
RETURN_US = 10_000_000
TRIAL_US = 20_000_000
HOLD_MAX_US = 480_000_000
# Ours: AV1 that lasted so long after a return did not fail.
PROVEN_US = 60_000_000
# Ours: the receiver tries a frame each 15 s at least; an older answer says nothing.
PROBE_VALID_US = 20_000_000


class PeerDecoding:
    """Follows the decoder of one peer."""

    reason = AdaptationReason.PEER_DECODE

    def __init__(self, *, is_av1_doubted: bool = False, now_us: int) -> None:
        """is_av1_doubted: AV1 has to be earned, as after it was left."""
        self.is_av1_refused = is_av1_doubted
        self._ns: dict[Codec, float] = {}
        """What decoding takes a pixel, by the last report."""
        self._h264_ns_at_first: float | None = None
        self._left_us = self._began_us = now_us
        self._left: _Left | None = None
        self._probed: tuple[int, int] | None = None
        """When the peer last told what a frame of AV1 would take, and that."""
        self._returned_us: int | None = None
        self._return = Patience(RETURN_US, max_us=HOLD_MAX_US, proven_us=PROVEN_US)
        self._trial = Patience(TRIAL_US, max_us=HOLD_MAX_US, proven_us=PROVEN_US)
        self._behind_ratio: float | None = None
        self._hits = 0

    @property
    def is_known(self) -> bool:
        """Whether the peer has told how its decoder keeps up."""
        return bool(self._ns)

    def begin(self, *, is_new_codec: bool, now_us: int) -> None:
        """Another operation is in use from now on."""
        self._behind_ratio, self._hits = None, 0
        if is_new_codec:
            self._began_us = now_us
            self._h264_ns_at_first = None

    def handle(self, report: DecodeReport, situation: Situation, *, now_us: int) -> None:
        """Take a report about what is sent in that situation."""
        settled_us = self._began_us + min(report.interval_us, REPORT_MAX_US) + SETTLE_US
        if report.codec is situation.used.codec and now_us >= settled_us and report.frames_decoded:
            self._follow(report, situation, now_us=now_us)
        if self.is_av1_refused and self._may_return(report, situation, now_us=now_us):
            self.is_av1_refused = False
            self._returned_us = now_us

    def refuses(
        self, operation: Operation, situation: Situation, step: Step, *, strictly: bool
    ) -> Refusal | None:
        """See Constraint; in its weaker form AV1 is refused as far as it is too much."""
        if step is Step.KEEP and self._behind_ratio is not None:
            return _refusal(operation, self._behind_ratio, BEHIND_RATIO)
        if strictly and self.is_av1_refused and operation.codec is Codec.AV1:
            ratio = None if self._left is None else self._left.decode_us / self._left.interval_us
            return _refusal(operation, ratio, BEHIND_RATIO)
        ratio = self._ratio(operation, situation)
        if ratio is None or step is Step.KEEP:
            return None
        limit = FIT_RATIO if step is Step.LEAVE else SPARE_RATIO
        if self._behind_ratio is not None and operation.codec is situation.used.codec:
            limit = min(limit, LESS * (self._ratio(situation.used, situation) or 0.0))
        return _refusal(operation, ratio, limit) if ratio > limit else None

    def _ratio(self, operation: Operation, situation: Situation) -> float | None:
        """The part of the frame interval that decoding would take; None where nothing is known."""
        ns = self._ns.get(operation.codec)
        if ns is None:
            return None
        decode_us = ns * situation.pixels(operation) / 1000
        return decode_us / situation.interval_us(operation)

    def _follow(self, report: DecodeReport, situation: Situation, *, now_us: int) -> None:
        # How large the pictures are is known better here than by the report.
        used = situation.used
        interval_us = situation.interval_us(used)
        ratio = report.decode_p50_us / interval_us
        ns = self._ns[report.codec] = 1000 * report.decode_p50_us / situation.pixels(used)
        if report.codec is Codec.H264 and self._h264_ns_at_first is None:
            self._h264_ns_at_first = ns
        if not _is_behind(report, ratio):
            self._hits, self._behind_ratio = 0, None
            return
        is_clear = ratio > CLEARLY_BEHIND_RATIO or report.waiting_frames >= WAITING_FRAMES
        self._hits += REPORTS if is_clear or report.frames_dropped else 1
        if self._hits >= REPORTS:
            self._behind_ratio = ratio
            if report.codec is Codec.AV1:
                self._leave_av1(report.decode_p50_us, interval_us=interval_us, now_us=now_us)

    def _leave_av1(self, decode_us: int, *, interval_us: int, now_us: int) -> None:
        if not self.is_av1_refused and self._returned_us is not None:
            lasted_us = now_us - self._returned_us
            self._return.ended(lasted_us)
            self._trial.ended(lasted_us)
            self._returned_us = None
        self.is_av1_refused, self._probed = True, None
        self._left_us = now_us
        self._left = _Left(
            decode_us=decode_us, interval_us=interval_us, ns=self._ns.get(Codec.AV1, 0.0)
        )

    def _may_return(self, report: DecodeReport, situation: Situation, *, now_us: int) -> bool:
        """Whether AV1 would be decoded in time by what is known, or may be tried without knowing."""
        if situation.used.codec is Codec.AV1:
            # For want of H.264 there is less of it, and what more would take is known.
            return self._behind_ratio is None and now_us - self._left_us >= self._return.hold_us
        if report.av1_decode_us is not None:
            self._probed = (now_us, report.av1_decode_us)
        elapsed_us, left = now_us - self._left_us, self._left
        probed = self._probed
        if left is None:
            return elapsed_us >= self._trial.hold_us
        if probed is not None and now_us - probed[0] <= PROBE_VALID_US:
            slowness, hold_us = probed[1] / max(1, left.decode_us), self._return.hold_us
            fits = left.fits(slowness)
        else:
            slowness = self._h264_slowness()
            fits = left.fits(slowness)
            hold_us = self._return.hold_us if fits else self._trial.hold_us
            # Nothing speaks of AV1 itself: it is tried.
            slowness, fits = (slowness if fits else 0.0), True
        if not fits or elapsed_us < hold_us:
            return False
        self._ns[Codec.AV1] = left.ns * slowness
        return True

    def _h264_slowness(self) -> float:
        """What H.264 takes now over what it took when AV1 was left."""
        first_ns, ns = self._h264_ns_at_first, self._ns.get(Codec.H264)
        return ns / first_ns if first_ns and ns is not None else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """What a frame of AV1 took when it was left, what a pixel did, and the frame interval."""

    decode_us: int
    interval_us: int
    ns: float

    def fits(self, slowness: float) -> bool:
        return self.decode_us * slowness <= SPARE_RATIO * self.interval_us


def _is_behind(report: DecodeReport, ratio: float) -> bool:
    is_dropping = report.frames_dropped >= DROPPED_FRAMES and ratio > DROPPED_RATIO
    return ratio > BEHIND_RATIO or is_dropping


def _refusal(operation: Operation, ratio: float | None, limit: float) -> Refusal:
    return Refusal(operation=operation, constraint="peer's decoding", value=ratio, limit=limit)
