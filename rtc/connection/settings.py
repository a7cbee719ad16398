"""What an application may set of a call."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...codecs.av1_presets import PRESETS
from ...codecs.errors import LocalError
from ...codecs.opus_encoder import BITRATE_RANGE_BPS as AUDIO_RANGE_BPS
from ...codecs.types import Codec
from ..audio_rate import DEFAULT_AUDIO_BPS
from ..estimators import CongestionControl
from ..resilience.settings import ResilienceSettings
from ..sender import MIN_TARGET_BPS

# ours: what 640x360 looks good at.
DEFAULT_TARGET_BPS = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """Settings of a CallPeerConnection.

    target_bps is the highest video rate of each sender, audio_bps that of Opus, which gives way where
    the path is narrow; codecs are offered in this order; preset is a row of the AV1 preset table;
    encoder_threads are those of each AV1 encoder. For experiments congestion_control names another way
    of following the path, start_bps is what the path is taken for before anything is known of it (None:
    what suits the way it is followed), dependency_descriptor may be refused, and resilience switches
    means against loss. Raises LocalError for a value outside its range.
    """

    target_bps: int = DEFAULT_TARGET_BPS
    audio_bps: int = DEFAULT_AUDIO_BPS
    codecs: tuple[str, ...] = (Codec.AV1, Codec.H264)
    preset: str = "default"
    dependency_descriptor: bool = True
    encoder_threads: int = 1
    congestion_control: str = CongestionControl.CODECPILOT
    start_bps: int | None = None
    resilience: ResilienceSettings = field(default_factory=ResilienceSettings)

    def __post_init__(self) -> None:
        if self.target_bps < MIN_TARGET_BPS:
            raise LocalError(f"target_bps {self.target_bps} is below {MIN_TARGET_BPS}")
        low, high = AUDIO_RANGE_BPS
        if not low <= self.audio_bps <= high:
            raise LocalError(f"audio_bps {self.audio_bps} is outside {low}..{high}")
        unknown = [c for c in self.codecs if c not in set(Codec)]
        if unknown or not self.codecs or len(set(self.codecs)) < len(self.codecs):
            raise LocalError(f"codecs {self.codecs} must be different ones of {', '.join(Codec)}")
        if self.preset not in PRESETS:
            raise LocalError(f"preset {self.preset!r} is none of {', '.join(PRESETS)}")
        if not 1 <= self.encoder_threads <= 16:
            raise LocalError(f"encoder_threads {self.encoder_threads} is outside 1..16")
        if self.congestion_control not in set(CongestionControl):
            names = ", ".join(CongestionControl)
            raise LocalError(f"congestion_control {self.congestion_control!r} is none of {names}")
        if self.start_bps is not None and self.start_bps < MIN_TARGET_BPS:
            raise LocalError(f"start_bps {self.start_bps} is below {MIN_TARGET_BPS}")
