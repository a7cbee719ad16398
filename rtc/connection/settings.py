"""What an application may set of a call."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...codecs.errors import LocalError
from ...codecs.opus_encoder import BITRATE_RANGE_BPS as AUDIO_RANGE_BPS
from ...codecs.types import Codec
from ..adaptation.operations import AUTO, checked_preset
from ..adaptation.settings import AdaptationSettings, SenderLimits, StartPoint
from ..audio_rate import DEFAULT_AUDIO_BPS
from ..estimators import CongestionControl
from ..resilience.settings import ResilienceSettings
from ..sender import MIN_TARGET_BPS
from .scores import MAX_DEVICE_CHARACTERS, is_device_text
from .start_policy import StartPolicy

# ours: what 640x360 looks good at.
DEFAULT_TARGET_BPS = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """Settings of a CallPeerConnection.

    target_bps is the highest video rate of each sender, audio_bps that of Opus, which gives way where
    the path is narrow; codecs are offered in this order; encoder_threads are those of each AV1 encoder.

    adaptation lets what is measured on both devices choose codec, preset, size and pictures a second;
    without it they are as set, and follow the rate alone. preset is the best row of the AV1 preset table
    that is used, "auto" any row, as the processor allows: cpu_budget_ratio is how much of a frame's
    interval better quality may take of it. Without power and below battery_ratio H.264 is sent; None
    leaves the battery out of it. rtc_score, 0..1, is how well this device is expected to hold a call,
    None not known; it tells where to begin, and the peer. send_codecs are those that this side may send,
    None all; it receives the others all the same, and where none of them is agreed on it sends what is.
    limits are each sender's to begin with. start_policy, in place of rtc_score, plans how what is sent begins
    by what both devices tell, such as codecpilot.eligibility.call_policy.CallPolicy: codec, preset, and the
    largest size and pace until more is seen to fit; without adaptation it only tells.

    For experiments congestion_control names another way of following the path, start_bps is what the
    path is taken for before anything is known of it (None: what suits the way it is followed),
    dependency_descriptor may be refused, and resilience switches means against loss. Raises LocalError
    for a value outside its range.
    """

    target_bps: int = DEFAULT_TARGET_BPS
    audio_bps: int = DEFAULT_AUDIO_BPS
    codecs: tuple[str, ...] = (Codec.AV1, Codec.H264)
    preset: str = AUTO
    dependency_descriptor: bool = True
    encoder_threads: int = 1
    congestion_control: str = CongestionControl.CODECPILOT
    start_bps: int | None = None
    resilience: ResilienceSettings = field(default_factory=ResilienceSettings)
    adaptation: bool = True
    cpu_budget_ratio: float = 0.5
    battery_ratio: float | None = 0.2
    rtc_score: float | None = None
    send_codecs: tuple[str, ...] | None = None
    limits: SenderLimits = field(default_factory=SenderLimits)
    start_policy: StartPolicy | None = None

    def __post_init__(self) -> None:
        if self.target_bps < MIN_TARGET_BPS:
            raise LocalError(f"target_bps {self.target_bps} is below {MIN_TARGET_BPS}")
        low, high = AUDIO_RANGE_BPS
        if not low <= self.audio_bps <= high:
            raise LocalError(f"audio_bps {self.audio_bps} is outside {low}..{high}")
        unknown = [c for c in self.codecs if c not in set(Codec)]
        if unknown or not self.codecs or len(set(self.codecs)) < len(self.codecs):
            raise LocalError(f"codecs {self.codecs} must be different ones of {', '.join(Codec)}")
        checked_preset(self.preset)
        if not 1 <= self.encoder_threads <= 16:
            raise LocalError(f"encoder_threads {self.encoder_threads} is outside 1..16")
        if self.congestion_control not in set(CongestionControl):
            names = ", ".join(CongestionControl)
            raise LocalError(f"congestion_control {self.congestion_control!r} is none of {names}")
        if self.start_bps is not None and self.start_bps < MIN_TARGET_BPS:
            raise LocalError(f"start_bps {self.start_bps} is below {MIN_TARGET_BPS}")
        if self.send_codecs is not None and not set(self.send_codecs) <= set(self.codecs):
            raise LocalError(f"send_codecs {self.send_codecs} are not among codecs {self.codecs}")
        self._check_policy()
        self.adaptation_settings(peer_score=None)

    @property
    def told_score(self) -> float | None:
        """The rtc_score of this side's device, whoever knows it."""
        return self.rtc_score if self.start_policy is None else self.start_policy.rtc_score

    def adaptation_settings(
        self, *, peer_score: float | None, start: StartPoint | None = None
    ) -> AdaptationSettings:
        """What a sender is told; peer_score is the peer's rtc_score, start how to begin. Raises LocalError."""
        send_codecs = self.send_codecs
        return AdaptationSettings(
            enabled=self.adaptation,
            cpu_budget_ratio=self.cpu_budget_ratio,
            battery_ratio=self.battery_ratio,
            own_score=self.told_score,
            peer_score=peer_score,
            send_codecs=None if send_codecs is None else tuple(Codec(c) for c in send_codecs),
            start=start,
        )

    def _check_policy(self) -> None:
        if self.start_policy is None:
            return
        if self.rtc_score is not None:
            raise LocalError("rtc_score and start_policy: the policy has a score of its own")
        if not is_device_text(self.start_policy.device_text):
            raise LocalError(
                f"start_policy.device_text is not a line of at most {MAX_DEVICE_CHARACTERS} ASCII characters"
            )
