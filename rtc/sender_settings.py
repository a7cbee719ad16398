"""What a sender is told before it begins."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..codecs.errors import LocalError
from ..codecs.types import Content
from .adaptation.operations import checked_preset
from .adaptation.settings import AdaptationSettings
from .messages import FlexfecStream, NegotiatedCodec, RedPayloadTypes
from .packetizer import StreamIdentity
from .resilience.settings import ResilienceSettings
from .rtp.extensions import ExtensionMap
from .stream_rate import checked_target


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderSettings:
    """What signalling agreed on and the application set. codecs[0] is where the stream begins.

    preset is the best row of AV1's table that is used, or "auto" for any; with adaptation switched off
    it is used throughout. Where both kinds of FEC were agreed on, FlexFEC is used.
    """

    identity: StreamIdentity
    cname: str
    codecs: tuple[NegotiatedCodec, ...]
    extensions: ExtensionMap
    target_bps: int
    preset: str = "default"
    content: Content = Content.CAMERA
    flexfec: FlexfecStream | None = None
    red: RedPayloadTypes | None = None
    resilience: ResilienceSettings = field(default_factory=ResilienceSettings)
    adaptation: AdaptationSettings = field(default_factory=AdaptationSettings)

    def __post_init__(self) -> None:
        if not self.codecs:
            raise LocalError("at least one codec is needed")
        checked_target(self.target_bps)
        checked_preset(self.preset)
