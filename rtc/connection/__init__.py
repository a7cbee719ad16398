"""The aiortc adapter: a drop-in RTCPeerConnection over the sans-I/O cores."""

from ..adaptation.settings import SenderLimits
from .peer_connection import CallPeerConnection
from .settings import CallSettings

__all__ = ["CallPeerConnection", "CallSettings", "SenderLimits"]
