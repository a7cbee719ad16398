"""How long a simulated device takes to encode and decode: pixels x preset cost x factors over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from ...codecs.errors import LocalError
from ...codecs.types import Codec, EncodedFrame, EncodeRequest, VideoEncoder
from ..adaptation.costs import DEFAULT_COSTS, Cost, CostKey
from .steps import Steps

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
