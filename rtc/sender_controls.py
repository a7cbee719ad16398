"""What an application sets of a stream during the call, and what adaptation to the devices is told and says."""

from __future__ import annotations

from fractions import Fraction

from ..codecs.types import Codec
from .adaptation.decisions import AdaptationDecision
from .adaptation.decode_report import DecodeReport
from .adaptation.health import DeviceHealth
from .adaptation.operation import Operation
from .adaptation.quality_limitation import QualityLimitationReason
from .adaptation.settings import SenderLimits
from .adaptation.stream_adaptation import StreamAdaptation
from .messages import NegotiatedCodec
from .stream_rate import StreamRate, checked_target


class SenderControls:
    """The part of SenderCore that steers what it sends."""

    _adaptation: StreamAdaptation
    _rate: StreamRate

    @property
    def target_bps(self) -> int:
        """The rate that the encoder is asked to hold."""
        return self._rate.target_bps

    @property
    def codec(self) -> NegotiatedCodec:
        """What the next picture is encoded with."""
        return self._adaptation.codec

    @property
    def operation(self) -> Operation:
        """All that the next picture is coded with."""
        return self._adaptation.operation

    def set_target(self, target_bps: int) -> None:
        """Set the application's rate; the path, or a receiver's REMB, may hold it lower."""
        self._rate.application_bps = checked_target(target_bps)

    def set_limits(self, limits: SenderLimits) -> None:
        """Send no more than this from the next picture on."""
        self._adaptation.limits = limits
        self._rate.limit_bps = limits.max_bps

    def set_codec(self, codec: Codec | None) -> None:
        """Go on with this negotiated codec, whatever speaks against it; None leaves it to adaptation again.

        The next picture is a key frame if the codec changes.
        """
        self._adaptation.set_codec(codec)

    def set_preset(self, preset: str | None) -> None:
        """Code AV1 with this preset alone; "auto" leaves all of them to adaptation, None those that were set."""
        self._adaptation.control.wishes.set_preset(preset)

    def set_scale(self, scale: Fraction | float | None) -> None:
        """Code at most this fraction of the pictures' size; None leaves it to adaptation again."""
        self._adaptation.control.wishes.set_scale(scale)

    def quality_limitation_durations_us(self, *, now_us: int) -> dict[QualityLimitationReason, int]:
        """W3C's qualityLimitationDurations, in us, up to now."""
        return self._adaptation.limitation.durations_us(now_us=now_us)

    def handle_health(self, health: DeviceHealth, *, now_us: int) -> None:
        """Take a look at this side's device."""
        self._adaptation.control.handle_health(health)

    def handle_decode_report(self, report: DecodeReport, *, now_us: int) -> None:
        """Take what the peer tells of its decoder, be it true or not."""
        self._adaptation.control.handle_report(report, now_us=now_us)

    def poll_adaptations(self) -> list[AdaptationDecision]:
        """What was decided of codec, preset, size, pace and layers since the last call, and why."""
        return self._adaptation.poll_decisions()
