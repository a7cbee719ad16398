"""CallPeerConnection: aiortc's RTCPeerConnection whose video runs the cores.

aiortc builds offers, answers and transceivers from names in its own module: the codec table, the extension table
and the classes of sender, receiver, transceiver and transport. Changing them there would change every connection of
the process. Instead the methods that read them are bound, for each connection, to a copy of that module's names in
which ours stand: same code, nothing registered globally.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from types import FunctionType
from typing import Any

from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCDataChannel,
    RTCPeerConnection,
    RTCSessionDescription,
    rtcpeerconnection,
    sdp,
)
from aiortc.codecs import CODECS, HEADER_EXTENSIONS
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpparameters import (
    RTCRtpCodecCapability,
    RTCRtpCodecParameters,
    RTCRtpReceiveParameters,
    RTCRtpRtxParameters,
)
from aiortc.rtcrtpreceiver import RTCRtpReceiver
from aiortc.rtcrtptransceiver import RTCRtpTransceiver

from ...codecs.types import Codec
from ..adaptation.browser_report import BrowserReport
from ..adaptation.settings import SenderLimits
from ..estimators import CongestionControl
from .capabilities import (
    DECODE_FEEDBACK,
    by_preference,
    find_common_codecs,
    of_one_implementation,
    video_codecs,
    video_header_extensions,
)
from .clock import NTP_EPOCH_OFFSET_US
from .devices import Devices
from .dtls_transport import CallDtlsTransport
from .fec_formats import announce_flexfec, flexfec_ssrc, rtx_ssrc
from .numbering import follow_extension_ids, follow_payload_types
from .peer_reports import PeerReports
from .receiver import CallRtpReceiver
from .remote_track import CallRemoteStreamTrack
from .scores import announce_device, announce_score, announced_device, announced_score
from .sender import CallRtpSender
from .settings import CallSettings
from .start_policy import start_point
from .streams import sound_of_pictures
from .transceiver import CallRtpTransceiver

# RFC 8285 6: without it a peer keeps to the one-byte form, and longer extensions vanish silently.
_ALLOW_MIXED = "a=extmap-allow-mixed\r\n"
# Agreed on with our own kind alone.
_DECODE_FEEDBACK = f" {DECODE_FEEDBACK.type} {DECODE_FEEDBACK.parameter}\r\n"


class CallPeerConnection(RTCPeerConnection):
    """Drop-in for RTCPeerConnection with AV1 and H.264 under codecpilot's control.

    Audio, data channels and whatever codec only aiortc knows work as they do there. Besides
    aiortc's events it emits "frameencoded" (EncodedFrame), "framereceived" (ReceivedFrame),
    "framedecoded" (DecodedFrame), "resiliencedecision" (Decision: what is done against loss, and why)
    and "adaptation" (AdaptationDecision: codec, preset, size, layers and why; the first of a stream
    says how it begins) for video. A data channel labelled "codecpilot-decode" is read besides: a
    browser's page tells there how its decoder keeps up.
    """

    def __init__(
        self,
        configuration: RTCConfiguration | None = None,
        *,
        settings: CallSettings | None = None,
    ) -> None:
        super().__init__(configuration)
        self.settings = settings or CallSettings()
        self._devices = Devices()
        self._peer_reports = PeerReports(self._take_report)
        self.on("datachannel", self._peer_reports.listen)
        control = CongestionControl(self.settings.congestion_control)
        resilience = self.settings.resilience
        codecs = video_codecs(
            [Codec(c) for c in self.settings.codecs],
            congestion_control=control,
            resilience=resilience,
        )
        extensions = video_header_extensions(
            dependency_descriptor=self.settings.dependency_descriptor,
            congestion_control=control,
            resilience=resilience,
        )
        self._names = {
            **vars(rtcpeerconnection),
            "CODECS": {**CODECS, "video": codecs},
            "HEADER_EXTENSIONS": {**HEADER_EXTENSIONS, "video": extensions},
            "RemoteStreamTrack": CallRemoteStreamTrack,
            "RTCDtlsTransport": CallDtlsTransport,
            "RTCRtpReceiver": CallRtpReceiver,
            "RTCRtpSender": CallRtpSender,
            "RTCRtpTransceiver": CallRtpTransceiver,
            "create_media_description_for_transceiver": _describe,
            "find_common_codecs": find_common_codecs,
        }

    @property
    def localDescription(self) -> RTCSessionDescription:
        """The local description, mixed header extensions allowed and our device told of."""
        local = super().localDescription
        return local and self._completed(local)

    def createDataChannel(self, label: str, *args: Any, **options: Any) -> RTCDataChannel:
        """Open a channel, as aiortc does; one that tells of the peer's decoder is read."""
        channel = super().createDataChannel(label, *args, **options)
        self._peer_reports.listen(channel)
        return channel

    async def createOffer(self) -> RTCSessionDescription:
        """Offer our codecs, each with its RTX, and our header extensions."""
        return self._completed(await self._bound(RTCPeerConnection.createOffer)(self))

    async def createAnswer(self) -> RTCSessionDescription:
        """Answer with what was agreed."""
        return self._completed(await self._bound(RTCPeerConnection.createAnswer)(self))

    async def setRemoteDescription(self, sessionDescription: RTCSessionDescription) -> None:
        """Agree on codecs: an answerer's order is its own, and one implementation runs them all."""
        answering = sessionDescription.type == "offer"
        self._meet(sessionDescription.sdp)

        def agreed(
            common: list[RTCRtpCodecParameters], preferred: list[RTCRtpCodecCapability]
        ) -> list[RTCRtpCodecParameters]:
            if not common or not common[0].mimeType.startswith("video/"):
                return rtcpeerconnection.filter_preferred_codecs(common, preferred)
            if answering:
                common = by_preference(common, self._names["CODECS"]["video"])
            return of_one_implementation(
                rtcpeerconnection.filter_preferred_codecs(common, preferred)
            )

        method = self._bound(RTCPeerConnection.setRemoteDescription, filter_preferred_codecs=agreed)
        await method(self, sessionDescription)
        media = sdp.SessionDescription.parse(sessionDescription.sdp).media
        self._follow_numbers(media)
        self._match_sound(media)

    def capture_wall_us(self, receiver: RTCRtpReceiver, frame: Any) -> int | None:
        """When a frame of a receiver's track was captured, in microseconds since 1970.

        The time is of the sender's clock; None until it is known (a sender report for audio).
        """
        if not isinstance(receiver, CallRtpReceiver):
            return None
        since_1900_us = receiver.capture_wall_us(frame)
        return None if since_1900_us is None else since_1900_us - NTP_EPOCH_OFFSET_US

    def set_limits(self, limits: SenderLimits) -> None:
        """Limit what each video sender sends; CallSettings.limits does so from the beginning."""
        for sender in self._video_senders():
            sender.set_limits(limits)

    def set_codec(self, codec: str | None) -> None:
        """Let each video sender send this codec; None: what is measured tells. Raises LocalError."""
        for sender in self._video_senders():
            sender.set_codec(codec)

    def set_preset(self, preset: str | None) -> None:
        """Let each video sender use this row of the AV1 preset table; None: as measured. Raises LocalError."""
        for sender in self._video_senders():
            sender.set_preset(preset)

    def set_scale(self, scale: Fraction | None) -> None:
        """Let each video sender code at most this fraction of the size; None: as measured. Raises LocalError."""
        for sender in self._video_senders():
            sender.set_scale(scale)

    def _video_senders(self) -> list[CallRtpSender]:
        senders = [t.sender for t in self.getTransceivers() if t.kind == "video"]
        return [s for s in senders if isinstance(s, CallRtpSender)]

    def _take_report(self, report: BrowserReport) -> None:
        """About the stream that it names, or every one."""
        for transceiver in self.getTransceivers():
            sender = transceiver.sender
            if isinstance(sender, CallRtpSender) and report.mid in (None, transceiver.mid):
                sender.handle_decode_report(report.report)

    def _completed(self, description: RTCSessionDescription) -> RTCSessionDescription:
        """With what aiortc has no names for; a plain peer's offer is answered without our score."""
        text = description.sdp
        if _ALLOW_MIXED not in text:
            session, media, rest = text.partition("m=")
            text = session + _ALLOW_MIXED + media + rest
        if _DECODE_FEEDBACK in text:
            policy = self.settings.start_policy
            text = announce_score(text, self.settings.told_score)
            text = announce_device(text, None if policy is None else policy.device_text)
        return RTCSessionDescription(sdp=text, type=description.type)

    def _meet(self, sdp: str) -> None:
        """Take what a peer tells of its device, and plan how to begin."""
        self._devices.peer_score = score = announced_score(sdp)
        policy = self.settings.start_policy
        if policy is not None:
            told = announced_device(sdp)
            self._devices.start = start_point(policy, peer_score=score, peer_text=told)

    def _follow_numbers(self, media: Sequence[sdp.MediaDescription]) -> None:
        """Let later offers use the numbers of this round."""
        codecs = [c for m in media for c in m.rtp.codecs]
        extensions = [e for m in media for e in m.rtp.headerExtensions]
        names = self._names
        names["CODECS"] = follow_payload_types(names["CODECS"], codecs)
        names["HEADER_EXTENSIONS"] = follow_extension_ids(names["HEADER_EXTENSIONS"], extensions)

    def _match_sound(self, media: Sequence[sdp.MediaDescription]) -> None:
        """Let pictures follow the sound of their stream."""
        receivers = {t.mid: t.receiver for t in self.getTransceivers() if t.mid is not None}
        sound_of = sound_of_pictures(media)
        for mid, receiver in receivers.items():
            pictures = [receivers[p] for p, s in sound_of.items() if s == mid and p in receivers]
            receiver.play_with(pictures)  # type: ignore[attr-defined]

    def _bound(self, method: Callable[..., Any], **names: Any) -> Callable[..., Any]:
        """A method of aiortc that sees our names in place of its module's."""
        if not isinstance(method, FunctionType):
            raise TypeError(f"{method} is no plain function")
        bound = FunctionType(
            method.__code__,
            {**self._names, **names},
            method.__name__,
            method.__defaults__,
            method.__closure__,
        )
        bound.__kwdefaults__ = method.__kwdefaults__
        return bound

    # aiortc calls these by their private names.
    def _RTCPeerConnection__createDtlsTransport(self) -> RTCDtlsTransport:
        method = self._bound(RTCPeerConnection._RTCPeerConnection__createDtlsTransport)  # type: ignore[attr-defined]
        transport: CallDtlsTransport = method(self)
        transport.configure(self.settings)
        return transport

    def _RTCPeerConnection__createTransceiver(
        self, direction: str, kind: str, sender_track: MediaStreamTrack | None = None
    ) -> RTCRtpTransceiver:
        method = self._bound(RTCPeerConnection._RTCPeerConnection__createTransceiver)  # type: ignore[attr-defined]
        transceiver: RTCRtpTransceiver = method(self, direction, kind, sender_track)
        transceiver.sender.configure(self.settings, self.emit, devices=self._devices)  # type: ignore[attr-defined]
        transceiver.receiver.configure(transceiver.sender, self.emit)  # type: ignore[attr-defined]
        return transceiver

    def _RTCPeerConnection__remoteRtp(
        self, transceiver: RTCRtpTransceiver
    ) -> RTCRtpReceiveParameters:
        parameters: RTCRtpReceiveParameters = super()._RTCPeerConnection__remoteRtp(transceiver)  # type: ignore[misc]
        remote = self._RTCPeerConnection__remoteDescription()  # type: ignore[attr-defined]
        media = remote.media[transceiver._get_mline_index()]
        transceiver.receiver.flexfec_ssrc = flexfec_ssrc(media)  # type: ignore[attr-defined]
        # aiortc finds it only where nothing else, such as FEC, has an SSRC besides.
        if (ssrc := rtx_ssrc(media)) is not None:
            for encoding in parameters.encodings:
                encoding.rtx = RTCRtpRtxParameters(ssrc=ssrc)
        return parameters


def _describe(transceiver: RTCRtpTransceiver, **names: Any) -> sdp.MediaDescription:
    media = rtcpeerconnection.create_media_description_for_transceiver(transceiver, **names)
    sender = transceiver.sender
    if isinstance(sender, CallRtpSender):
        sender.announces_flexfec = announce_flexfec(media, ssrc=sender.flexfec_ssrc)
    return media
