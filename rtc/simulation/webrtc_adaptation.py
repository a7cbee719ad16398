"""How libwebrtc adapts to a device, as something to compare with: two loops that know nothing of each other.

Its AV1 encoder walks the speeds by the time that frames took. Apart from that OveruseFrameDetector walks
the size; libwebrtc goes to 3/5 of the pixels, here it is the next scale that AV1 codes without a key frame.
"""

from __future__ import annotations

from fractions import Fraction

from ...codecs.types import EncodedFrame
from ..adaptation.operations import SCALES
from ..encode_loop import Skipped
from ..encoder_session import EncoderSession
from ..sender import SenderCore
from .ends import CoreSender

# Fast to slow: our rows in the place of libaom's speeds; half-size ultralow is the other loop's step.
PRESETS = ("low", "default", "high", "best")

# libwebrtc's speed controller: smoothing and bounds of encode time over the frame interval.
FAST_ALPHA, SLOW_ALPHA = 0.3, 0.1
FASTER_FAST_RATIO, FASTER_SLOW_RATIO = 0.95, 0.75
SLOWER_RATIO = 0.5
KEY_DIVISOR = 3.5

# libwebrtc overuse_frame_detector.cc: CpuOveruseOptions, kCheckForOveruseIntervalMs and its neighbours.
HIGH_RATIO, LOW_RATIO = 0.85, 0.42
FIRST_CHECK_US, CHECK_INTERVAL_US = 100_000, 5_000_000
MIN_CHECKS = 3
CHECKS_ABOVE = 2
QUICK_RAMP_UP_US, RAMP_UP_US, MAX_RAMP_UP_US = 10_000_000, 40_000_000, 240_000_000
MAX_OVERUSES = 4
RAMP_UP_BACKOFF = 2
# The weight of a frame in SendProcessingUsage1, at 30 fps.
USAGE_ALPHA = 0.05


class SpeedLadder:
    """One step at a time through PRESETS; begins at "default"."""

    def __init__(self) -> None:
        self._place = PRESETS.index("default")
        self._fast: float | None = None
        self._slow: float | None = None

    @property
    def preset(self) -> str:
        """For the next frame."""
        return PRESETS[self._place]

    def encoded(self, used_ratio: float, *, key: bool) -> None:
        """A frame took this part of the frame interval."""
        used_ratio /= KEY_DIVISOR if key else 1
        self._fast = _smoothed(self._fast, used_ratio, FAST_ALPHA)
        self._slow = _smoothed(self._slow, used_ratio, SLOW_ALPHA)
        if self._fast > FASTER_FAST_RATIO or self._slow > FASTER_SLOW_RATIO:
            self._go(-1)
        elif self._slow <= SLOWER_RATIO:
            self._go(1)

    def _go(self, step: int) -> None:
        self._place = min(max(self._place + step, 0), len(PRESETS) - 1)


class OveruseDetector:
    """OveruseFrameDetector with what AdaptDown and AdaptUp do to the size."""

    def __init__(self, *, now_us: int) -> None:
        self._place = 0
        self._usage: float | None = None
        self._next_us = now_us + FIRST_CHECK_US
        self._checks = self._above = self._overuses = 0
        self._ramp_up_us = RAMP_UP_US
        self._is_quick = False
        self._went_up_us = self._went_down_us = now_us

    @property
    def scale(self) -> Fraction:
        """For the next frame."""
        return SCALES[self._place]

    def encoded(self, used_ratio: float, *, now_us: int) -> None:
        """A frame took this part of the frame interval."""
        self._usage = _smoothed(self._usage, used_ratio, USAGE_ALPHA)
        if now_us >= self._next_us:
            self._next_us += CHECK_INTERVAL_US
            self._checks += 1
            if self._checks > MIN_CHECKS:
                self._check(self._usage, now_us)

    def _check(self, usage: float, now_us: int) -> None:
        self._above = self._above + 1 if usage >= HIGH_RATIO else 0
        if self._above >= CHECKS_ABOVE:
            self._back_off(now_us)
            self._went_down_us, self._is_quick, self._above = now_us, False, 0
            self._overuses += 1
            self._place = min(self._place + 1, len(SCALES) - 1)
            return
        wait_us = QUICK_RAMP_UP_US if self._is_quick else self._ramp_up_us
        if usage < LOW_RATIO and now_us >= self._went_up_us + wait_us:
            self._went_up_us, self._is_quick = now_us, True
            self._place = max(self._place - 1, 0)

    def _back_off(self, now_us: int) -> None:
        """Going up that did not last makes the next one wait for longer."""
        if self._went_up_us <= self._went_down_us:
            return
        if now_us - self._went_up_us < RAMP_UP_US or self._overuses > MAX_OVERUSES:
            self._ramp_up_us = min(self._ramp_up_us * RAMP_UP_BACKOFF, MAX_RAMP_UP_US)
        else:
            self._ramp_up_us = RAMP_UP_US


class WebrtcSender(CoreSender):
    """SenderCore without its own adaptation, told preset and size by these two."""

    def __init__(
        self, core: SenderCore, session: EncoderSession, *, interval_us: int, now_us: int
    ) -> None:
        """interval_us is that of captured pictures."""
        super().__init__(core, session)
        self._interval_us = interval_us
        self._speed = SpeedLadder()
        self._overuse = OveruseDetector(now_us=now_us)

    def handle_encoded(self, result: EncodedFrame | Skipped, *, now_us: int) -> None:
        """See SendingEnd."""
        super().handle_encoded(result, now_us=now_us)
        used_ratio = result.encode_us / self._interval_us
        if isinstance(result, EncodedFrame):
            self._speed.encoded(used_ratio, key=result.key)
        self._overuse.encoded(used_ratio, now_us=now_us)
        self.core.set_preset(self._speed.preset)
        self.core.set_scale(self._overuse.scale)


def _smoothed(before: float | None, value: float, alpha: float) -> float:
    return value if before is None else before + alpha * (value - before)
