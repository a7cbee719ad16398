"""aiortc's transceiver, which accepts our codecs in its preferences."""

from __future__ import annotations

from aiortc.rtcrtpparameters import RTCRtpCodecCapability
from aiortc.rtcrtptransceiver import RTCRtpTransceiver

from .capabilities import video_capabilities
from .fec_formats import is_media


class CallRtpTransceiver(RTCRtpTransceiver):
    """Takes preferences from the capabilities of our senders and receivers, or of aiortc's."""

    def setCodecPreferences(self, codecs: list[RTCRtpCodecCapability]) -> None:
        """Override the order of codecs; an empty list restores the default. Raises ValueError."""
        if self.kind != "video":
            super().setCodecPreferences(codecs)
            return
        known = video_capabilities().codecs
        if any(codec not in known for codec in codecs):
            raise ValueError("Codec is not in capabilities")
        # As W3C webrtc-pc 5.4 says: what repairs a codec is no codec.
        if codecs and not any(is_media(codec) for codec in codecs):
            raise ValueError("No codec among RTX and FEC alone")
        self._preferred_codecs = [c for i, c in enumerate(codecs) if c not in codecs[:i]]
