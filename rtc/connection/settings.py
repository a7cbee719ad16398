"""What an application may set of a call."""

from __future__ import annotations

from dataclasses import dataclass

from ...codecs.av1_presets import PRESETS
from ...codecs.errors import LocalError
from ...codecs.types import Codec
from ..sender import MIN_TARGET_BPS

# The design's range for calls is 10 to 400 kbps; ours: what 640x360 looks good at.
DEFAULT_TARGET_BPS = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """Settings of a CallPeerConnection.

    target_bps is the video rate of each sender; codecs are offered in this order; preset is a row
    of the AV1 preset table; dependency_descriptor may be refused for experiments. Raises LocalError
    for a value outside its range.
    """

    target_bps: int = DEFAULT_TARGET_BPS
    codecs: tuple[str, ...] = (Codec.AV1, Codec.H264)
    preset: str = "default"
    dependency_descriptor: bool = True
    encoder_threads: int = 1

    def __post_init__(self) -> None:
        if self.target_bps < MIN_TARGET_BPS:
            raise LocalError(f"target_bps {self.target_bps} is below {MIN_TARGET_BPS}")
        unknown = [c for c in self.codecs if c not in set(Codec)]
        if unknown or not self.codecs or len(set(self.codecs)) < len(self.codecs):
            raise LocalError(f"codecs {self.codecs} must be different ones of {', '.join(Codec)}")
        if self.preset not in PRESETS:
            raise LocalError(f"preset {self.preset!r} is none of {', '.join(PRESETS)}")
        if not 1 <= self.encoder_threads <= 16:
            raise LocalError(f"encoder_threads {self.encoder_threads} is outside 1..16")
