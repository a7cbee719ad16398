"""What offers and answers say of the means against loss: FEC, NACK and long-term references."""

from __future__ import annotations

import re
from typing import Any

import pytest
from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.rtcrtpparameters import RTCRtpCodecParameters
from aiortc.sdp import GroupDescription, MediaDescription, SessionDescription, SsrcDescription

from codecpilot.codecs.types import Codec
from codecpilot.rtc.connection.capabilities import (
    by_preference,
    find_common_codecs,
    has_agreed,
    negotiated_codecs,
    of_one_implementation,
    video_capabilities,
    video_codecs,
)
from codecpilot.rtc.connection.fec_formats import (
    flexfec_ssrc,
    is_fec,
    negotiated_flexfec,
    negotiated_red,
    rtx_ssrc,
)
from codecpilot.rtc.messages import FlexfecStream, RedPayloadTypes
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch

from tests.live_call import ALONE, call, in_call

LTR_URIS = {"urn:codecpilot:rtp-hdrext:ltr", "urn:codecpilot:rtp-hdrext:ltr-ack"}
LOCAL = video_codecs((Codec.AV1, Codec.H264))


def _video(sdp: str) -> MediaDescription:
    (media,) = [m for m in SessionDescription.parse(sdp).media if m.kind == "video"]
    return media


def _types(media: MediaDescription) -> dict[str, RTCRtpCodecParameters]:
    return {c.name.lower(): c for c in media.rtp.codecs}


def _uris(media: MediaDescription) -> set[str]:
    return {e.uri for e in media.rtp.headerExtensions}


def _without(sdp: str, name: str) -> str:
    """The description without a format."""
    (number,) = re.findall(rf"a=rtpmap:(\d+) {name}/90000", sdp)
    sdp = re.sub(rf"a=(rtpmap|fmtp|rtcp-fb):{number} .*\r\n", "", sdp)
    return re.sub(rf"(m=video .*) {number}\b", r"\1", sdp)


async def _offer_and_answer(offerer: Any, answerer: Any) -> tuple[str, str]:
    offerer.addTransceiver("video")
    await offerer.setLocalDescription(await offerer.createOffer())
    await answerer.setRemoteDescription(offerer.localDescription)
    await answerer.setLocalDescription(await answerer.createAnswer())
    return offerer.localDescription.sdp, answerer.localDescription.sdp


async def test_an_offer_has_flexfec_on_its_own_source_and_red_with_ulpfec() -> None:
    async with in_call(call()) as (pc,):
        transceiver = pc.addTransceiver("video")
        media = _video((await pc.createOffer()).sdp)
        types = _types(media)
        assert types["flexfec-03"].parameters == {"repair-window": "10000000"}
        assert {"red", "ulpfec"} <= set(types)
        assert len({c.payloadType for c in media.rtp.codecs}) == len(media.rtp.codecs)
        sender = transceiver.sender
        assert flexfec_ssrc(media) == sender.flexfec_ssrc
        assert len({sender._ssrc, sender._rtx_ssrc, sender.flexfec_ssrc}) == 3
        assert _uris(media) >= LTR_URIS


async def test_both_sides_of_ours_agree_on_all_of_it_and_name_their_sources() -> None:
    async with in_call(call(), call()) as (offerer, answerer):
        sdps = await _offer_and_answer(offerer, answerer)
        for sdp, pc in zip(sdps, (offerer, answerer), strict=True):
            media = _video(sdp)
            assert {"flexfec-03", "red", "ulpfec"} <= set(_types(media))
            assert _uris(media) >= LTR_URIS
            (transceiver,) = pc.getTransceivers()
            assert flexfec_ssrc(media) == transceiver.sender.flexfec_ssrc
            assert rtx_ssrc(media) == transceiver.sender._rtx_ssrc
            # Chromium refuses a group of a source that has no line of its own.
            assert {s.ssrc for s in media.ssrc} == {i for g in media.ssrc_group for i in g.items}


async def test_a_stock_connection_answers_with_none_of_it() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        _, answer = await _offer_and_answer(ours, stock)
        media = _video(answer)
        assert not any(is_fec(c) for c in media.rtp.codecs)
        assert not LTR_URIS & _uris(media)
        assert "FEC-FR" not in answer


async def test_a_stock_offer_is_answered_with_none_of_it() -> None:
    async with in_call(RTCPeerConnection(ALONE), call()) as (stock, ours):
        _, answer = await _offer_and_answer(stock, ours)
        assert not any(is_fec(c) for c in _video(answer).rtp.codecs)
        assert not LTR_URIS & _uris(_video(answer))
        assert "FEC-FR" not in answer


async def test_an_offer_without_flexfec_is_answered_with_red_and_no_source() -> None:
    async with in_call(call(), call()) as (offerer, answerer):
        offerer.addTransceiver("video")
        sdp = _without((await offerer.createOffer()).sdp, "flexfec-03")
        await answerer.setRemoteDescription(RTCSessionDescription(sdp=sdp, type="offer"))
        answer = (await answerer.createAnswer()).sdp
        assert {"red", "ulpfec"} <= set(_types(_video(answer)))
        assert "flexfec" not in answer
        assert "FEC-FR" not in answer


@pytest.mark.parametrize(
    ("switch", "absent"),
    [
        ("fec", ("flexfec-03", "red/", "ulpfec", "FEC-FR")),
        ("nack", (" nack\r\n",)),
        ("ltr", tuple(LTR_URIS)),
    ],
)
async def test_what_is_switched_off_is_not_offered(switch: str, absent: tuple[str, ...]) -> None:
    off = ResilienceSettings(**{switch: Switch.OFF})
    async with in_call(call(), call(resilience=off)) as (full, less):
        full.addTransceiver("video")
        less.addTransceiver("video")
        offers = [(await pc.createOffer()).sdp for pc in (full, less)]
        video = [sdp[sdp.index("m=video") : sdp.index("a=rtpmap:100 ")] for sdp in offers]
        tails = [sdp[sdp.index("a=rtpmap:100 ") :] for sdp in offers]
        for text in absent:
            assert text in video[0] + tails[0]
            assert text not in video[1]
        if switch == "nack":
            assert " nack pli\r\n" in video[1]


async def test_preferences_may_leave_fec_out_but_no_codec_in() -> None:
    async with in_call(call()) as (pc,):
        known = video_capabilities().codecs
        transceiver = pc.addTransceiver("video")
        transceiver.setCodecPreferences([c for c in known if not is_fec(c)])
        sdp = (await pc.createOffer()).sdp
        assert not any(is_fec(c) for c in _video(sdp).rtp.codecs)
        assert "FEC-FR" not in sdp
        with pytest.raises(ValueError, match="No codec"):
            transceiver.setCodecPreferences([c for c in known if is_fec(c)])


async def test_a_later_offer_keeps_the_numbers_of_fec() -> None:
    async with in_call(call(), call()) as (first, second):
        first.addTransceiver("video")
        sdp = (await first.createOffer()).sdp
        number = str(_types(_video(sdp))["flexfec-03"].payloadType)
        moved = re.sub(rf"a=(rtpmap|fmtp|rtcp-fb):{number} ", r"a=\1:35 ", sdp)
        moved = re.sub(rf"(m=video .*) {number}\b", r"\1 35", moved)
        await second.setRemoteDescription(RTCSessionDescription(sdp=moved, type="offer"))
        await second.setLocalDescription(await second.createAnswer())
        again = _video((await second.createOffer()).sdp)
        assert _types(again)["flexfec-03"].payloadType == 35
        assert len({c.payloadType for c in again.rtp.codecs}) == len(again.rtp.codecs)


def _remote(name: str, payload_type: int, **parameters: Any) -> RTCRtpCodecParameters:
    return RTCRtpCodecParameters(
        mimeType=f"video/{name}",
        clockRate=90_000,
        payloadType=payload_type,
        parameters=parameters,
    )


# As Chromium offers them: RED with RTX, ULPFEC, no FlexFEC.
CHROMIUM = [
    _remote("VP8", 96),
    _remote("rtx", 97, apt=96),
    _remote("AV1", 45, profile="0"),
    _remote("rtx", 46, apt=45),
    _remote("red", 125),
    _remote("rtx", 107, apt=125),
    _remote("ulpfec", 108),
]


def _agreed(remote: list[RTCRtpCodecParameters]) -> list[RTCRtpCodecParameters]:
    return of_one_implementation(by_preference(find_common_codecs(LOCAL, remote), LOCAL))


def test_chromiums_offer_is_taken_with_red_and_its_numbers() -> None:
    agreed = _agreed(CHROMIUM)
    assert [(c.name, c.payloadType) for c in agreed] == [
        ("AV1", 45),
        ("rtx", 46),
        ("red", 125),
        ("rtx", 107),
        ("ulpfec", 108),
    ]
    assert negotiated_red(agreed) == RedPayloadTypes(red=125, ulpfec=108, rtx=107)
    assert negotiated_flexfec(agreed, ssrc=5) is None
    (codec,) = negotiated_codecs(agreed)
    assert (codec.payload_type, codec.rtx_payload_type) == (45, 46)


def test_flexfec_needs_a_source() -> None:
    agreed = _agreed([*CHROMIUM, _remote("flexfec-03", 120)])
    assert negotiated_flexfec(agreed, ssrc=5) == FlexfecStream(payload_type=120, ssrc=5)
    assert negotiated_flexfec(agreed, ssrc=None) is None


@pytest.mark.parametrize("missing", ["red", "ulpfec"])
def test_half_of_red_and_ulpfec_is_none(missing: str) -> None:
    assert negotiated_red(_agreed([c for c in CHROMIUM if c.name != missing])) is None


def test_fec_without_a_codec_is_nothing_in_common() -> None:
    assert _agreed([c for c in CHROMIUM if is_fec(c)]) == []


def test_fec_is_not_for_aiortcs_own_implementation() -> None:
    common = of_one_implementation(find_common_codecs(LOCAL, CHROMIUM))
    assert [c.payloadType for c in common] == [96, 97]


def test_feedback_is_agreed_when_the_codecs_agree_whatever_fec_has() -> None:
    codecs = [c for c in LOCAL if c.name in ("AV1", "flexfec-03", "red", "ulpfec")]
    nack = next(f for f in codecs[0].rtcpFeedback if f.type == "nack" and not f.parameter)
    assert has_agreed(nack, codecs)
    assert nack not in codecs[1].rtcpFeedback


def _section(*groups: GroupDescription, ssrcs: tuple[int, ...] = (1, 2, 3)) -> MediaDescription:
    media = MediaDescription(kind="video", port=9, profile="UDP/TLS/RTP/SAVPF", fmt=[])
    media.ssrc = [SsrcDescription(ssrc=s) for s in ssrcs]
    media.ssrc_group = list(groups)
    return media


def test_the_source_of_flexfec_is_the_partner_of_the_first_source() -> None:
    rtx = GroupDescription("FID", [1, 2])
    assert flexfec_ssrc(_section(rtx, GroupDescription("FEC-FR", [1, 3]))) == 3
    assert rtx_ssrc(_section(GroupDescription("FEC-FR", [1, 3]), rtx)) == 2


@pytest.mark.parametrize(
    "group",
    [
        GroupDescription("FEC-FR", []),
        GroupDescription("FEC-FR", [1]),
        GroupDescription("FEC-FR", [1, 2, 3]),
        GroupDescription("FEC-FR", [2, 3]),
        GroupDescription("FID", [1, 3]),
    ],
    ids=str,
)
def test_other_groups_name_no_source_of_flexfec(group: GroupDescription) -> None:
    assert flexfec_ssrc(_section(group)) is None
    assert flexfec_ssrc(_section(GroupDescription("FEC-FR", [1, 3]), ssrcs=())) is None
