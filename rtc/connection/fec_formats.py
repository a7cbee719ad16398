"""FEC in descriptions: FlexFEC-03 on an SSRC of its own, and RED with ULPFEC for peers that know no other."""

from __future__ import annotations

from collections.abc import Sequence

from aiortc.codecs import is_rtx
from aiortc.rtcrtpparameters import (
    RTCRtcpFeedback,
    RTCRtpCodecCapability,
    RTCRtpCodecParameters,
)
from aiortc.sdp import GroupDescription, MediaDescription, SsrcDescription

from ..messages import VIDEO_CLOCK_HZ, FlexfecStream, RedPayloadTypes

# Behind AV1's in the table; an answer takes the offer's numbers.
FLEXFEC_PAYLOAD_TYPE = 105
RED_PAYLOAD_TYPE = 106
RED_RTX_PAYLOAD_TYPE = 107
ULPFEC_PAYLOAD_TYPE = 108
# libwebrtc kFlexfecCodecName, and its repair window of 10 s in microseconds (kFlexfecFmtpRepairWindow).
_FLEXFEC, _RED, _ULPFEC = "flexfec-03", "red", "ulpfec"
_REPAIR_WINDOW = {"repair-window": "10000000"}
# RFC 5956 4.3: the sources that FEC protects and the one that carries it; RFC 4588 8.3 for retransmission.
_FEC_GROUP, _RTX_GROUP = "FEC-FR", "FID"


def fec_codecs(rate_feedback: Sequence[RTCRtcpFeedback]) -> list[RTCRtpCodecParameters]:
    """What is offered besides codecs: FlexFEC, then RED with its RTX and ULPFEC.

    FlexFEC alone has feedback of its own, since it is a stream of its own.
    """
    return [
        _format(
            _FLEXFEC,
            FLEXFEC_PAYLOAD_TYPE,
            feedback=rate_feedback,
            parameters=dict(_REPAIR_WINDOW),
        ),
        _format(_RED, RED_PAYLOAD_TYPE),
        _format("rtx", RED_RTX_PAYLOAD_TYPE, parameters={"apt": RED_PAYLOAD_TYPE}),
        _format(_ULPFEC, ULPFEC_PAYLOAD_TYPE),
    ]


def is_fec(codec: RTCRtpCodecParameters | RTCRtpCodecCapability) -> bool:
    """Whether an entry of a description names FEC, or RED around it, instead of a codec."""
    return codec.name.lower() in (_FLEXFEC, _RED, _ULPFEC)


def is_media(codec: RTCRtpCodecParameters | RTCRtpCodecCapability) -> bool:
    """Whether an entry of a description names a codec, and nothing that repairs one."""
    return not is_fec(codec) and not is_rtx(codec)


def negotiated_flexfec(
    codecs: Sequence[RTCRtpCodecParameters], *, ssrc: int | None
) -> FlexfecStream | None:
    """FlexFEC on this SSRC; None where it was not agreed or no SSRC was named."""
    payload_type = _payload_type(codecs, _FLEXFEC)
    if payload_type is None or ssrc is None:
        return None
    return FlexfecStream(payload_type=payload_type, ssrc=ssrc)


def negotiated_red(codecs: Sequence[RTCRtpCodecParameters]) -> RedPayloadTypes | None:
    """RED with ULPFEC; None where not both were agreed."""
    red, ulpfec = _payload_type(codecs, _RED), _payload_type(codecs, _ULPFEC)
    if red is None or ulpfec is None:
        return None
    rtx = next((c.payloadType for c in codecs if is_rtx(c) and c.parameters["apt"] == red), None)
    return RedPayloadTypes(red=red, ulpfec=ulpfec, rtx=rtx)


def announce_flexfec(media: MediaDescription, *, ssrc: int) -> bool:
    """Name the source of our FlexFEC, where it is offered or agreed; whether it is named."""
    if _payload_type(media.rtp.codecs, _FLEXFEC) is None:
        return False
    first = media.ssrc[0]
    media.ssrc.append(SsrcDescription(ssrc=ssrc, cname=first.cname))
    media.ssrc_group.append(GroupDescription(semantic=_FEC_GROUP, items=[first.ssrc, ssrc]))
    return True


def flexfec_ssrc(media: MediaDescription) -> int | None:
    """The SSRC of the FlexFEC that protects a section's first source alone."""
    return _partner(media, _FEC_GROUP)


def rtx_ssrc(media: MediaDescription) -> int | None:
    """The SSRC of the retransmissions of a section's first source."""
    return _partner(media, _RTX_GROUP)


def _partner(media: MediaDescription, semantic: str) -> int | None:
    if not media.ssrc:
        return None
    pairs = [g.items for g in media.ssrc_group if g.semantic == semantic and len(g.items) == 2]
    partners = (int(second) for first, second in pairs if first == media.ssrc[0].ssrc)
    return next(partners, None)


def _payload_type(codecs: Sequence[RTCRtpCodecParameters], name: str) -> int | None:
    return next((c.payloadType for c in codecs if c.name.lower() == name), None)


def _format(
    name: str,
    payload_type: int,
    *,
    feedback: Sequence[RTCRtcpFeedback] = (),
    parameters: dict[str, int | str | None] | None = None,
) -> RTCRtpCodecParameters:
    return RTCRtpCodecParameters(
        mimeType=f"video/{name}",
        clockRate=VIDEO_CLOCK_HZ,
        payloadType=payload_type,
        rtcpFeedback=list(feedback),
        parameters=parameters or {},
    )
