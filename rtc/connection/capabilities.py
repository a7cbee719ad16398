"""What a connection offers: codecs, their retransmission and header extensions, in our order of preference."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from aiortc import rtcpeerconnection as aiortc_connection
from aiortc.codecs import CODECS, HEADER_EXTENSIONS, is_rtx
from aiortc.rtcrtpparameters import (
    RTCRtcpFeedback,
    RTCRtpCapabilities,
    RTCRtpCodecCapability,
    RTCRtpCodecParameters,
    RTCRtpHeaderExtensionCapability,
    RTCRtpHeaderExtensionParameters,
    RTCRtpParameters,
)

from ...codecs.types import Codec
from ..estimators import CongestionControl
from ..messages import VIDEO_CLOCK_HZ, NegotiatedCodec
from ..resilience.settings import ResilienceSettings, Switch
from ..rtp.extensions import (
    ABS_CAPTURE_TIME,
    DEPENDENCY_DESCRIPTOR,
    LTR,
    LTR_ACK,
    TRANSPORT_CC,
    ExtensionMap,
)
from .fec_formats import fec_codecs, is_fec, is_media

# Free in aiortc's table, which ends at 102; an answer takes the offer's numbers.
AV1_PAYLOAD_TYPE = 103
# RFC 8829 5.2 and libwebrtc: dynamic numbers are 96..127, and 35..63 once those are used up.
DYNAMIC_PAYLOAD_TYPES = frozenset((*range(35, 64), *range(96, 128)))
# aiortc numbers its own extensions 1 to 3, one space for all media when bundled.
DEPENDENCY_DESCRIPTOR_ID = 4
ABS_CAPTURE_TIME_ID = 5
TRANSPORT_CC_ID = 6
LTR_ID = 7
LTR_ACK_ID = 8
# draft-holmer-rmcat-transport-wide-cc-extensions-01 section 4, draft-alvestrand-rmcat-remb-03 section 2.3.
TRANSPORT_FEEDBACK = RTCRtcpFeedback(type="transport-cc")
REMB_FEEDBACK = RTCRtcpFeedback(type="goog-remb")
# Ours, in docs/wire-format.md: how the receiver's decoder keeps up.
DECODE_FEEDBACK = RTCRtcpFeedback(type="codecpilot", parameter="decode")
_NACK_FEEDBACK = RTCRtcpFeedback(type="nack")
ALL_MEANS = ResilienceSettings()
# AV1 RTP specification 7.2.1: level 3.1, main profile, main tier; what Chromium offers too.
_AV1_PARAMETERS = {"level-idx": "5", "profile": "0", "tier": "0"}


def video_codecs(
    preference: Sequence[Codec],
    *,
    congestion_control: CongestionControl = CongestionControl.CODECPILOT,
    resilience: ResilienceSettings = ALL_MEANS,
) -> list[RTCRtpCodecParameters]:
    """Our codecs in this order, each with its RTX, then what aiortc itself can do besides, then FEC.

    NACK and FEC are left out where resilience switches them off.
    """
    stock = CODECS["video"]
    ours = copy.deepcopy([c for codec in preference for c in _entries(codec, stock)])
    rate_feedback = _rate_feedback(congestion_control)
    left_out = [REMB_FEEDBACK, *[_NACK_FEEDBACK] * (resilience.nack is Switch.OFF)]
    for codec in ours:
        if not is_rtx(codec):
            kept = [f for f in codec.rtcpFeedback if f not in left_out]
            codec.rtcpFeedback = [*kept, *rate_feedback, DECODE_FEEDBACK]
    others = [c for c in stock if not _is_h264(c, stock)]
    fec = [] if resilience.fec is Switch.OFF else fec_codecs(rate_feedback)
    return [*ours, *copy.deepcopy(others), *fec]


def video_header_extensions(
    *,
    dependency_descriptor: bool,
    congestion_control: CongestionControl = CongestionControl.CODECPILOT,
    resilience: ResilienceSettings = ALL_MEANS,
) -> list[RTCRtpHeaderExtensionParameters]:
    """aiortc's extensions for video, the capture time and, unless refused, the descriptor.

    And the transport-wide number, where the congestion control wants feedback on it, and the marks and
    acknowledgements of long-term references, unless resilience switches those off.
    """
    ours = [(ABS_CAPTURE_TIME_ID, ABS_CAPTURE_TIME)]
    if dependency_descriptor:
        ours.append((DEPENDENCY_DESCRIPTOR_ID, DEPENDENCY_DESCRIPTOR))
    if congestion_control.uses_transport_feedback:
        ours.append((TRANSPORT_CC_ID, TRANSPORT_CC))
    if resilience.ltr is not Switch.OFF:
        ours += [(LTR_ID, LTR), (LTR_ACK_ID, LTR_ACK)]
    extra = [RTCRtpHeaderExtensionParameters(id=i, uri=uri) for i, uri in ours]
    return [*HEADER_EXTENSIONS["video"], *extra]


def video_capabilities() -> RTCRtpCapabilities:
    """What RTCRtpSender.getCapabilities and RTCRtpReceiver.getCapabilities say for video."""
    codecs = [c for c in video_codecs(tuple(Codec)) if not is_rtx(c)]
    capabilities = [
        RTCRtpCodecCapability(mimeType=c.mimeType, clockRate=c.clockRate, parameters=c.parameters)
        for c in codecs
    ]
    # As W3C webrtc-pc 5.2 says: one entry for retransmission, without parameters.
    capabilities.append(RTCRtpCodecCapability(mimeType="video/rtx", clockRate=VIDEO_CLOCK_HZ))
    extensions = [
        RTCRtpHeaderExtensionCapability(uri=e.uri)
        for e in video_header_extensions(dependency_descriptor=True)
    ]
    return RTCRtpCapabilities(codecs=capabilities, headerExtensions=extensions)


def find_common_codecs(
    local: list[RTCRtpCodecParameters], remote: list[RTCRtpCodecParameters]
) -> list[RTCRtpCodecParameters]:
    """The remote's codecs that we know, with its numbers and order, each followed by its RTX.

    aiortc's own keeps its local number for a remote one of 35..63, where Chromium puts AV1. Of
    several codecs that share a number the first counts.
    """
    common: list[RTCRtpCodecParameters] = []
    remote = _numbered_once(remote)
    for theirs in (c for c in remote if not is_rtx(c)):
        ours = next((c for c in local if _compatible(c, theirs)), None)
        if ours is None or not _is_usable(theirs):
            continue
        agreed = copy.deepcopy(ours)
        agreed.payloadType = theirs.payloadType
        agreed.rtcpFeedback = [f for f in ours.rtcpFeedback if f in theirs.rtcpFeedback]
        common.append(agreed)
        common += [
            copy.deepcopy(c) for c in remote if is_rtx(c) and _repairs(c, theirs) and _is_usable(c)
        ]
    return common


def by_preference(
    common: list[RTCRtpCodecParameters], local: Sequence[RTCRtpCodecParameters]
) -> list[RTCRtpCodecParameters]:
    """Agreed codecs in our order: an answerer decides what it sends."""

    def rank(codec: RTCRtpCodecParameters) -> int:
        base = codec
        if is_rtx(codec):
            base = next(c for c in common if c.payloadType == codec.parameters["apt"])
        return next(i for i, c in enumerate(local) if _compatible(c, base))

    return sorted(common, key=rank)


def of_one_implementation(common: list[RTCRtpCodecParameters]) -> list[RTCRtpCodecParameters]:
    """Only codecs that the first one's implementation runs: ours, with FEC, or aiortc's.

    None where there is no codec among them.
    """
    first = next((c for c in common if is_media(c)), None)
    if first is None:
        return []
    ours = is_ours(first)
    kept = [c for c in common if (is_media(c) and is_ours(c) == ours) or (is_fec(c) and ours)]
    numbers = {c.payloadType for c in kept}
    return [c for c in common if c in kept or (is_rtx(c) and c.parameters.get("apt") in numbers)]


def is_ours(codec: RTCRtpCodecParameters) -> bool:
    """Whether the cores run this codec."""
    return codec.name.upper() in Codec.__members__


def negotiated_codecs(codecs: Sequence[RTCRtpCodecParameters]) -> tuple[NegotiatedCodec, ...]:
    """The agreed codecs as the cores know them; empty when aiortc's own implementation serves."""
    rtx = {c.parameters.get("apt"): c.payloadType for c in codecs if is_rtx(c)}
    return tuple(
        NegotiatedCodec(
            codec=Codec(c.name.upper()),
            payload_type=c.payloadType,
            rtx_payload_type=rtx.get(c.payloadType),
        )
        for c in codecs
        if is_ours(c) and c.payloadType is not None
    )


def negotiated_extensions(parameters: RTCRtpParameters) -> ExtensionMap:
    """The agreed header extensions; an id out of range or given twice by the remote counts for none.

    Nor does the transport-wide number where no feedback on it was agreed: then it serves nobody.
    """
    extensions = parameters.headerExtensions
    ids = [e.id for e in extensions]
    has_feedback = has_agreed(TRANSPORT_FEEDBACK, parameters.codecs)
    return ExtensionMap(
        {
            e.uri: e.id
            for e in extensions
            if 1 <= e.id <= 255 and ids.count(e.id) == 1 and (e.uri != TRANSPORT_CC or has_feedback)
        }
    )


def has_agreed(feedback: RTCRtcpFeedback, codecs: Sequence[RTCRtpCodecParameters]) -> bool:
    """Whether every codec of a section, repairs aside, was agreed with this feedback."""
    return all(feedback in c.rtcpFeedback for c in codecs if is_media(c))


def _rate_feedback(congestion_control: CongestionControl) -> list[RTCRtcpFeedback]:
    if congestion_control is CongestionControl.NONE:
        return []
    # REMB is for peers that know no better.
    return [REMB_FEEDBACK, *[TRANSPORT_FEEDBACK] * congestion_control.uses_transport_feedback]


def _entries(codec: Codec, stock: Sequence[RTCRtpCodecParameters]) -> list[RTCRtpCodecParameters]:
    if codec is Codec.H264:
        return [c for c in stock if _is_h264(c, stock)]
    feedback = [
        _NACK_FEEDBACK,
        RTCRtcpFeedback(type="nack", parameter="pli"),
        RTCRtcpFeedback(type="ccm", parameter="fir"),
    ]
    av1 = RTCRtpCodecParameters(
        mimeType="video/AV1",
        clockRate=VIDEO_CLOCK_HZ,
        payloadType=AV1_PAYLOAD_TYPE,
        rtcpFeedback=feedback,
        parameters=dict(_AV1_PARAMETERS),
    )
    rtx = RTCRtpCodecParameters(
        mimeType="video/rtx",
        clockRate=VIDEO_CLOCK_HZ,
        payloadType=AV1_PAYLOAD_TYPE + 1,
        parameters={"apt": AV1_PAYLOAD_TYPE},
    )
    return [av1, rtx]


def _is_h264(codec: RTCRtpCodecParameters, stock: Sequence[RTCRtpCodecParameters]) -> bool:
    if is_rtx(codec):
        return any(c.name == "H264" and _repairs(codec, c) for c in stock)
    return codec.name == "H264"


def _numbered_once(codecs: Sequence[RTCRtpCodecParameters]) -> list[RTCRtpCodecParameters]:
    """Sections of two media kinds that are not bundled may use the same numbers."""
    first: dict[object, RTCRtpCodecParameters] = {}
    for codec in codecs:
        first.setdefault((codec.mimeType.partition("/")[0], codec.payloadType), codec)
    return list(first.values())


def _is_usable(codec: RTCRtpCodecParameters) -> bool:
    # RFC 5761 4: with the marker bit, 64..95 look like RTCP. RFC 3551 6 assigned those below 35.
    return codec.payloadType in DYNAMIC_PAYLOAD_TYPES or codec.payloadType in range(35)


def _repairs(rtx: RTCRtpCodecParameters, codec: RTCRtpCodecParameters) -> bool:
    return rtx.parameters.get("apt") == codec.payloadType and rtx.clockRate == codec.clockRate


def _compatible(a: RTCRtpCodecParameters, b: RTCRtpCodecParameters) -> bool:
    if not aiortc_connection.is_codec_compatible(a, b):
        return False
    # AV1 RTP specification 7.2.1: profile must agree and is 0 when absent; level and tier are limits.
    return a.name.upper() != Codec.AV1 or _av1_profile(a) == _av1_profile(b)


def _av1_profile(codec: RTCRtpCodecParameters) -> str:
    return str(codec.parameters.get("profile", "0"))
