"""What one try at a frame takes on this device: the table, what each operation differs by, the speed now.

log(ns a pixel) = log(table) + bias of the operation + speed. The speed changes during a call, as devices
throttle and others use them; the bias is the device's own and stays. So what one operation shows of
the speed is known of all, and what a change to another shows at first is that one's bias.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from ...codecs.types import Codec
from .costs import table_cost
from .operation import Operation

Key = tuple[Codec, str, Fraction]

# Ours: variances of logarithms. How unlike two devices are in what one operation costs against
# another: a third more or less is usual. Siblings at another size are more alike.
BIAS_VARIANCE = 0.4**2
SIBLING_VARIANCE = 0.25**2
# Ours: how unlike two frames are, by content and by chance.
FRAME_VARIANCE = 0.2**2
# Ours: what the speed drifts in a frame; with the above it follows within 15 of them.
DRIFT_VARIANCE = 0.0003
# Ours: as far off twice in a row (by medians of three: three frames, or all but one of four), the speed has jumped.
JUMP = 0.3
MEDIAN_OF = 3
# Ours: the mean of tries follows within 30 frames.
TRIES_GAIN = 1 / 30


@dataclass(slots=True)
class _Bias:
    log: float
    variance: float


class EncodeCosts:
    """Learns from frames of ordinary kinds; key frames and the finer ones are dearer. One a stream."""

    def __init__(self) -> None:
        self._speed = 0.0
        self._speed_variance = 1.0
        self._biases: dict[Key, _Bias] = {}
        self._recent: deque[float] = deque(maxlen=MEDIAN_OF)
        self._recent_key: Key | None = None
        self._was_off = False
        self._tries = dict.fromkeys(Codec, 1.0)

    def observe(
        self, operation: Operation, *, scale: Fraction, encode_us: int, tries: int, pixels: int
    ) -> None:
        """A frame took encode_us in so many tries, each of so many pixels: the scale of a picture."""
        if encode_us <= 0 or tries <= 0 or pixels <= 0:
            return
        codec, key = operation.codec, _key(operation, scale)
        self._tries[codec] += TRIES_GAIN * (tries - self._tries[codec])
        if key != self._recent_key:
            self._recent.clear()
            self._recent_key, self._was_off = key, False
        ns = 1000 * encode_us / (tries * pixels)
        self._recent.append(math.log(ns / _table_ns(operation)))
        if not self._biases:
            # The first operation is what the others are measured against.
            self._biases[key] = _Bias(0.0, 0.0)
            self._speed = self._recent[-1]
        elif len(self._recent) == MEDIAN_OF:
            self._learn(key, median(self._recent))

    def frame_us(self, operation: Operation, *, scale: Fraction, pixels: int) -> float:
        """What a frame would take now, with as many tries as it usually has."""
        bias = self._bias(_key(operation, scale))
        ns = _table_ns(operation) * math.exp(bias.log + self._speed)
        return ns * pixels / 1000 * self._tries[operation.codec]

    def deviation(self, operation: Operation, *, scale: Fraction) -> float:
        """How sure that is: the standard deviation of the logarithm of what the operation differs by."""
        return math.sqrt(self._bias(_key(operation, scale)).variance)

    def believe(self) -> None:
        """The last frames show the speed as it is now, however sudden: they were too much."""
        key = self._recent_key
        if key is not None and len(self._recent) == MEDIAN_OF:
            self._was_off = True
            self._learn(key, median(self._recent))

    @property
    def slowness(self) -> float:
        """How many times slower the device is than what the table was measured on, as the first operation has it."""
        return math.exp(self._speed)

    @property
    def is_known(self) -> bool:
        """Whether any frame was seen."""
        return bool(self._biases)

    def _learn(self, key: Key, measured: float) -> None:
        bias = self._biases.setdefault(key, self._bias(key))
        self._speed_variance += DRIFT_VARIANCE
        error = measured - self._speed - bias.log
        is_off = abs(error) > JUMP
        if is_off and self._was_off:
            self._speed_variance += error**2
        self._was_off = is_off
        total = self._speed_variance + bias.variance + FRAME_VARIANCE
        self._speed += error * self._speed_variance / total
        bias.log += error * bias.variance / total
        self._speed_variance *= 1 - self._speed_variance / total
        bias.variance *= 1 - bias.variance / total

    def _bias(self, key: Key) -> _Bias:
        known = self._biases.get(key)
        if known is not None:
            return known
        for (codec, preset, _), sibling in self._biases.items():
            if (codec, preset) == key[:2]:
                return _Bias(sibling.log, sibling.variance + SIBLING_VARIANCE)
        return _Bias(0.0, BIAS_VARIANCE)


def _key(operation: Operation, scale: Fraction) -> Key:
    return operation.codec, operation.preset, scale


def _table_ns(operation: Operation) -> float:
    return table_cost(operation.codec, operation.preset).encode_ns
