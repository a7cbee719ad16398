"""What the codecs take on one machine: the beginning of every estimate, and the simulated device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ...codecs.types import Codec
from .operation import DEFAULT_PRESET

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
        (Codec.H264, DEFAULT_PRESET): Cost(encode_ns=5.3, decode_ns=1.3),
    }
)


def table_cost(codec: Codec, preset: str) -> Cost:
    """The table's row; the codec's default where a preset has none."""
    return DEFAULT_COSTS.get((codec, preset)) or DEFAULT_COSTS[codec, DEFAULT_PRESET]
