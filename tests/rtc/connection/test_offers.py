"""What offers and answers say, without any network."""

from __future__ import annotations

from typing import Any

import pytest
from aiortc import RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.codecs import CODECS, HEADER_EXTENSIONS
from aiortc.rtcrtpparameters import RTCRtpCodecParameters

from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec
from codecpilot.rtc.connection import CallSettings
from codecpilot.rtc.connection.capabilities import (
    by_preference,
    find_common_codecs,
    negotiated_codecs,
    of_one_implementation,
    video_capabilities,
    video_codecs,
)

from tests.live_call import ALONE, call, in_call, negotiate

DESCRIPTOR_URI = (
    "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
)
CAPTURE_TIME_URI = "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
FEC = ["flexfec-03", "red", "rtx", "ulpfec"]


async def _offer(pc: Any) -> str:
    pc.addTransceiver("video")
    sdp: str = (await pc.createOffer()).sdp
    return sdp


def _lines(sdp: str, prefix: str) -> list[str]:
    return [line.removeprefix(prefix) for line in sdp.splitlines() if line.startswith(prefix)]


def _codecs(sdp: str) -> list[str]:
    """Codec names of the video section in the order of its m= line."""
    names = {line.split()[0]: line.split()[1].split("/")[0] for line in _lines(sdp, "a=rtpmap:")}
    (numbers,) = _lines(sdp, "m=video ")
    return [names[n] for n in numbers.split()[2:]]


async def test_an_offer_puts_av1_first_and_each_codec_before_its_rtx() -> None:
    async with in_call(call()) as (pc,):
        sdp = await _offer(pc)
        codecs = ["AV1", "rtx", "H264", "rtx", "H264", "rtx", "VP8", "rtx"]
        assert _codecs(sdp) == [*codecs, *FEC]
        numbers = _lines(sdp, "m=video ")[0].split()[2:]
        repairs = {n: numbers[i - 1] for i, n in enumerate(numbers) if _codecs(sdp)[i] == "rtx"}
        apts = [line.split(" apt=") for line in _lines(sdp, "a=fmtp:") if "apt=" in line]
        assert dict(apts) == repairs
        assert len(set(numbers)) == len(numbers)


async def test_the_order_follows_the_settings() -> None:
    async with in_call(call(codecs=("H264", "AV1")), call(codecs=("H264",))) as (two, one):
        assert _codecs(await _offer(two))[:8:2] == ["H264", "H264", "AV1", "VP8"]
        assert _codecs(await _offer(one))[:6:2] == ["H264", "H264", "VP8"]


async def test_av1_offers_what_its_feedback_needs() -> None:
    async with in_call(call()) as (pc,):
        sdp = await _offer(pc)
        number = _lines(sdp, "m=video ")[0].split()[2]
        assert _lines(sdp, f"a=fmtp:{number} ") == ["level-idx=5;profile=0;tier=0"]
        assert set(_lines(sdp, f"a=rtcp-fb:{number} ")) == {
            "nack",
            "nack pli",
            "ccm fir",
            "goog-remb",
            "transport-cc",
            "codecpilot decode",
        }


@pytest.mark.parametrize("described", [True, False])
async def test_header_extensions_have_ids_of_their_own(described: bool) -> None:
    async with in_call(call(dependency_descriptor=described)) as (pc,):
        pc.addTransceiver("audio")
        sdp = await _offer(pc)
        ids: dict[str, set[str]] = {}
        for line in _lines(sdp, "a=extmap:"):
            number, uri = line.split()
            ids.setdefault(number, set()).add(uri)
        # RFC 8843 9.2: bundled media share one space of ids.
        assert all(len(uris) == 1 for uris in ids.values())
        uris = set().union(*ids.values())
        assert (DESCRIPTOR_URI in uris) == described
        assert CAPTURE_TIME_URI in uris


async def test_descriptions_allow_mixed_header_extensions_once() -> None:
    async with in_call(call(), call()) as (ours, theirs):
        ours.addTransceiver("video")
        offer = await ours.createOffer()
        await ours.setLocalDescription(offer)
        await theirs.setRemoteDescription(ours.localDescription)
        answer = await theirs.createAnswer()
        await theirs.setLocalDescription(answer)
        for sdp in (offer.sdp, ours.localDescription.sdp, answer.sdp, theirs.localDescription.sdp):
            assert _lines(sdp, "a=extmap-allow-mixed") == [""]
            assert sdp.index("a=extmap-allow-mixed") < sdp.index("m=")


async def test_there_is_no_local_description_at_first() -> None:
    async with in_call(call()) as (pc,):
        assert pc.localDescription is None


async def test_an_answer_takes_the_offers_numbers_in_our_order() -> None:
    async with in_call(call(codecs=("H264", "AV1")), call()) as (offerer, answerer):
        offerer.addTransceiver("video")
        await offerer.setLocalDescription(await offerer.createOffer())
        renumbered = _renumber_av1(offerer.localDescription.sdp, 45, 46)
        await answerer.setRemoteDescription(RTCSessionDescription(sdp=renumbered, type="offer"))
        sdp = (await answerer.createAnswer()).sdp
        assert _codecs(sdp) == ["AV1", "rtx", "H264", "rtx", "H264", "rtx", *FEC]
        assert _lines(sdp, "m=video ")[0].split()[2:4] == ["45", "46"]
        assert _lines(sdp, "a=fmtp:46 ") == ["apt=45"]


async def test_an_answer_from_a_stock_connection_settles_on_h264_with_rtx() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        ours.addTransceiver("video")
        await ours.setLocalDescription(await ours.createOffer())
        await stock.setRemoteDescription(ours.localDescription)
        sdp = (await stock.createAnswer()).sdp
        assert _codecs(sdp)[:2] == ["H264", "rtx"]
        assert "AV1" not in sdp


async def test_codec_preferences_order_the_offer_and_leave_out_the_rest() -> None:
    async with in_call(call()) as (pc,):
        known = video_capabilities().codecs
        h264 = next(c for c in known if c.mimeType == "video/H264")
        av1 = next(c for c in known if c.mimeType == "video/AV1")
        rtx = next(c for c in known if c.mimeType == "video/rtx")
        transceiver = pc.addTransceiver("video")
        transceiver.setCodecPreferences([h264, av1, h264])
        assert _codecs((await pc.createOffer()).sdp) == ["H264", "AV1"]
        transceiver.setCodecPreferences([av1, rtx])
        assert _codecs((await pc.createOffer()).sdp) == ["AV1", "rtx"]
        transceiver.setCodecPreferences([])
        assert _codecs((await pc.createOffer()).sdp)[0] == "AV1"


async def test_codec_preferences_order_the_answer() -> None:
    async with in_call(call(), call()) as (offerer, answerer):
        offerer.addTransceiver("video")
        await offerer.setLocalDescription(await offerer.createOffer())
        h264 = [c for c in video_capabilities().codecs if c.mimeType == "video/H264"]
        answerer.addTransceiver("video").setCodecPreferences(h264)
        await answerer.setRemoteDescription(offerer.localDescription)
        assert set(_codecs((await answerer.createAnswer()).sdp)) == {"H264"}


async def test_a_preference_outside_the_capabilities_is_refused() -> None:
    async with in_call(call()) as (pc,):
        opus = next(c for c in RTCRtpSender.getCapabilities("audio").codecs)
        with pytest.raises(ValueError, match="not in capabilities"):
            pc.addTransceiver("video").setCodecPreferences([opus])
        with pytest.raises(ValueError, match="not in capabilities"):
            pc.addTransceiver("audio").setCodecPreferences(video_capabilities().codecs[:1])


async def test_capabilities_name_av1_on_our_own_senders_and_receivers_only() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        for pc, expected in ((ours, True), (stock, False)):
            transceiver = pc.addTransceiver("video")
            for side in (transceiver.sender, transceiver.receiver):
                types = {c.mimeType for c in side.getCapabilities("video").codecs}
                assert ("video/AV1" in types) == expected
                assert "video/H264" in types
                audio = {c.mimeType for c in side.getCapabilities("audio").codecs}
                assert "audio/opus" in audio


async def test_nothing_is_registered_globally() -> None:
    before = repr(CODECS), repr(HEADER_EXTENSIONS)
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        await _offer(ours)
        sdp = await _offer(stock)
        assert (repr(CODECS), repr(HEADER_EXTENSIONS)) == before
        assert "AV1" not in sdp
        assert DESCRIPTOR_URI not in sdp
        assert _codecs(sdp)[0] == "VP8"
        stock_types = [type(t.sender).__module__ for t in stock.getTransceivers()]
        assert stock_types == ["aiortc.rtcrtpsender"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_bps": 100}, "target_bps 100"),
        ({"codecs": ()}, "AV1, H264"),
        ({"codecs": ("VP9",)}, "VP9"),
        ({"codecs": ("AV1", "AV1")}, "AV1"),
        ({"preset": "warp"}, "'warp'"),
        ({"encoder_threads": 0}, "1..16"),
        ({"congestion_control": "bbr"}, "'bbr' is none of codecpilot, gcc, remb, none"),
        ({"start_bps": 100}, "start_bps 100"),
    ],
)
def test_settings_outside_their_range_are_refused_by_name(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(LocalError, match=message):
        CallSettings(**settings)


def _codec(name: str, payload_type: int, **parameters: Any) -> RTCRtpCodecParameters:
    return RTCRtpCodecParameters(
        mimeType=f"video/{name}",
        clockRate=90_000,
        payloadType=payload_type,
        parameters=parameters,
    )


class TestCommonCodecs:
    """Chromium's offers have what aiortc's own negotiation gets wrong."""

    LOCAL = video_codecs((Codec.AV1, Codec.H264))

    def test_the_remote_number_counts_also_between_35_and_63(self) -> None:
        remote = [_codec("AV1", 45, profile="0"), _codec("rtx", 46, apt=45)]
        common = find_common_codecs(self.LOCAL, remote)
        assert [(c.name, c.payloadType) for c in common] == [("AV1", 45), ("rtx", 46)]

    def test_rtx_is_found_wherever_it_stands(self) -> None:
        remote = [_codec("rtx", 46, apt=45), _codec("VP9", 98), _codec("AV1", 45)]
        common = find_common_codecs(self.LOCAL, remote)
        assert [(c.name, c.payloadType) for c in common] == [("AV1", 45), ("rtx", 46)]

    def test_an_unknown_profile_of_av1_is_left_out(self) -> None:
        remote = [_codec("AV1", 45, profile="1"), _codec("AV1", 47, profile="0")]
        common = find_common_codecs(self.LOCAL, remote)
        assert [c.payloadType for c in common] == [47]

    def test_rtx_of_an_unknown_codec_is_left_out(self) -> None:
        remote = [_codec("rtx", 46, apt=98), _codec("VP9", 98)]
        assert find_common_codecs(self.LOCAL, remote) == []

    def test_a_number_that_cannot_be_told_from_rtcp_is_left_out(self) -> None:
        remote = [_codec("AV1", 72), _codec("VP8", 100), _codec("rtx", 73, apt=100)]
        common = find_common_codecs(self.LOCAL, remote)
        assert [(c.name, c.payloadType) for c in common] == [("VP8", 100)]

    @pytest.mark.parametrize("second", ["rtx", "H264", "AV1"])
    def test_of_codecs_that_share_a_number_the_first_counts(self, second: str) -> None:
        remote = [_codec("AV1", 45), _codec(second, 45, apt=45), _codec("rtx", 46, apt=45)]
        common = find_common_codecs(self.LOCAL, remote)
        ranked = by_preference(common, self.LOCAL)
        assert [(c.name, c.payloadType) for c in ranked] == [("AV1", 45), ("rtx", 46)]

    def test_one_implementation_runs_a_stream(self) -> None:
        remote = [
            _codec("VP8", 96),
            _codec("rtx", 97, apt=96),
            _codec("AV1", 45),
            _codec("rtx", 46, apt=45),
        ]
        common = find_common_codecs(self.LOCAL, remote)
        ours = of_one_implementation(by_preference(common, self.LOCAL))
        assert [c.payloadType for c in ours] == [45, 46]
        stock = of_one_implementation(common)
        assert [c.payloadType for c in stock] == [96, 97]
        assert of_one_implementation([]) == []

    def test_the_cores_are_told_payload_types_and_their_rtx(self) -> None:
        remote = [_codec("AV1", 45), _codec("rtx", 46, apt=45), _codec("VP8", 96)]
        (codec,) = negotiated_codecs(find_common_codecs(self.LOCAL, remote))
        assert (codec.codec, codec.payload_type, codec.rtx_payload_type) == (Codec.AV1, 45, 46)


def _renumber_av1(sdp: str, media: int, rtx: int) -> str:
    """The description with AV1 on other payload types."""
    (number,) = [x.split()[0] for x in _lines(sdp, "a=rtpmap:") if "AV1" in x]
    (repair,) = [x.split()[0] for x in _lines(sdp, "a=fmtp:") if x.endswith(f"apt={number}")]
    lines = []
    for line in sdp.splitlines():
        if line.startswith("m=video"):
            numbers = {number: str(media), repair: str(rtx)}
            line = " ".join(numbers.get(w, w) for w in line.split())
        for old, new in ((number, media), (repair, rtx)):
            for attribute in ("rtpmap", "fmtp", "rtcp-fb"):
                line = line.replace(f"a={attribute}:{old} ", f"a={attribute}:{new} ")
        lines.append(line.replace(f"apt={number}", f"apt={media}"))
    return "\r\n".join(lines) + "\r\n"


async def test_both_sides_tell_their_scores() -> None:
    async with in_call(call(rtc_score=0.25), call(rtc_score=0.875)) as (ours, theirs):
        ours.addTransceiver("video")
        await negotiate(ours, theirs)
        assert _lines(ours.localDescription.sdp, "a=codecpilot-score:") == ["0.2500"]
        assert _lines(theirs.localDescription.sdp, "a=codecpilot-score:") == ["0.8750"]
        assert theirs._devices.peer_score == 0.25
        assert ours._devices.peer_score == 0.875


async def test_a_plain_peer_and_one_without_a_score_are_told_none() -> None:
    async with in_call(call(rtc_score=0.5), call(), RTCPeerConnection(ALONE)) as (a, b, plain):
        b.addTransceiver("video")
        plain.addTransceiver("video")
        assert _lines(await _offer(b), "a=codecpilot-score:") == []
        await negotiate(plain, a)
        assert _lines(a.localDescription.sdp, "a=codecpilot-") == []
        assert "codecpilot" not in a.localDescription.sdp
        assert a._devices.peer_score is None
