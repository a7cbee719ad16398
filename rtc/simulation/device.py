"""How long a simulated device takes to encode and decode: pixels x preset cost x factors over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from ...codecs.errors import LocalError
from ...codecs.types import Codec, EncodedFrame, EncodeRequest, VideoEncoder
from .steps import Steps

CostKey = tuple[Codec, str]
"""A codec and one of its presets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Nanoseconds a coded pixel, on one thread of the device whose factor is 1."""

    encode_ns: float
    decode_ns: float


# Measured by `codecpilot doctor` (CPU time at 640x360, the project's scene) on one core of a two-core
# x86-64 cloud machine with AVX-512; H.264 is libx264 superfast and FFmpeg's decoder.
DEFAULT_COSTS: Mapping[CostKey, Cost] = MappingProxyType(
    {
        (Codec.AV1, "ultralow"): Cost(encode_ns=14.2, decode_ns=3.1),
        (Codec.AV1, "low"): Cost(encode_ns=7.7, decode_ns=1.9),
        (Codec.AV1, "default"): Cost(encode_ns=8.1, decode_ns=2.3),
        (Codec.AV1, "high"): Cost(encode_ns=17.4, decode_ns=3.5),
        (Codec.AV1, "best"): Cost(encode_ns=19.5, decode_ns=2.8),
        (Codec.H264, "default"): Cost(encode_ns=5.3, decode_ns=1.3),
    }
)


ONE: Steps[Fraction] = Steps.constant(Fraction(1))


class DeviceModel:
    """A device's speed over time."""

    def __init__(
        self,
        *,
        factor: Steps[Fraction],
        av1_encode: Steps[Fraction] = ONE,
        av1_decode: Steps[Fraction] = ONE,
        costs: Mapping[CostKey, Cost] = DEFAULT_COSTS,
    ) -> None:
        """factor 2 is a device that takes twice as long as the costs say; the others multiply it for AV1."""
        self._factor = factor
        self._av1_encode = av1_encode
        self._av1_decode = av1_decode
        self._costs = costs

    def encode_us(self, codec: Codec, preset: str, *, pixels: int, now_us: int) -> int:
        """Time of one try at a frame of this many coded pixels, begun at now_us."""
        further = self._av1_encode if codec is Codec.AV1 else ONE
        return self._scaled(self._cost(codec, preset).encode_ns * pixels, further, now_us)

    def decode_us(self, codec: Codec, preset: str, *, pixels: int, now_us: int) -> int:
        """Time of decoding such a frame; preset is what it was encoded with."""
        further = self._av1_decode if codec is Codec.AV1 else ONE
        return self._scaled(self._cost(codec, preset).decode_ns * pixels, further, now_us)

    def _cost(self, codec: Codec, preset: str) -> Cost:
        # H.264's encoder has one preset in a call, whatever AV1's is called.
        cost = self._costs.get((codec, preset)) or self._costs.get((codec, "default"))
        if cost is None:
            known = ", ".join(f"{c} {p}" for c, p in self._costs)
            raise LocalError(f"no cost is known of {codec} {preset}, only of {known}")
        return cost

    def _scaled(self, cost_ns: float, further: Steps[Fraction], now_us: int) -> int:
        factor = float(self._factor.at(now_us)) * float(further.at(now_us))
        return max(1, round(cost_ns * factor / 1000))


class TimedEncoder:
    """An encoder whose frames say how long the simulated device took, not this machine."""

    def __init__(
        self, encoder: VideoEncoder, *, device: DeviceModel, now_us: Callable[[], int]
    ) -> None:
        """now_us tells when the job under way began."""
        self.codec = encoder.codec
        self.implementation = encoder.implementation
        self.can_retry = encoder.can_retry
        self._encoder = encoder
        self._now_us = now_us
        self._device = device

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        """See VideoEncoder.encode."""
        frame = self._encoder.encode(request)
        pixels = frame.width * frame.height
        took_us = self._device.encode_us(
            self.codec, request.preset, pixels=pixels, now_us=self._now_us()
        )
        return replace(frame, encode_us=took_us, encode_cpu_us=took_us)

    def close(self) -> None:
        """See VideoEncoder.close."""
        self._encoder.close()
