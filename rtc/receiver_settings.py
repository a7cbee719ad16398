"""What a receiver is told at its start."""

from __future__ import annotations

from dataclasses import dataclass, field

from .messages import FlexfecStream, NegotiatedCodec, RedPayloadTypes
from .resilience.settings import ResilienceSettings
from .rtp.extensions import ExtensionMap


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverSettings:
    """What signalling agreed on. ssrc is the one our own RTCP is sent from.

    remote_ssrc may be None: then the first media packet tells. Retransmissions are told by their
    payload type, whatever their SSRC. flexfec and red are there where FEC was negotiated; the LTR
    extensions among the extensions tell whether references were. resilience switches off what is
    not to be used all the same. decode_reports tells whether the source is to know what our decoder takes.
    """

    ssrc: int
    codecs: tuple[NegotiatedCodec, ...]
    extensions: ExtensionMap
    remote_ssrc: int | None = None
    flexfec: FlexfecStream | None = None
    red: RedPayloadTypes | None = None
    resilience: ResilienceSettings = field(default_factory=ResilienceSettings)
    decode_reports: bool = False
