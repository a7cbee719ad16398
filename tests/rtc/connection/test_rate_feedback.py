"""What offers and answers agree on about following the path: transport-wide feedback, or REMB."""

from __future__ import annotations

from typing import Any

import pytest
from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.rtcrtpparameters import (
    RTCRtcpFeedback,
    RTCRtpCodecParameters,
    RTCRtpHeaderExtensionParameters,
    RTCRtpParameters,
)

from codecpilot.rtc.connection.capabilities import negotiated_extensions

from tests.live_call import ALONE, DrawnTrack, call, in_call

TRANSPORT_CC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
ABS_SEND_TIME = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"

# Some of what Chromium offers, by its own numbers: sound first, and feedback on it too.
CHROMIUM_OFFER = f"""\
v=0
o=- 1 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0 1
a=extmap-allow-mixed
a=msid-semantic: WMS
m=audio 9 UDP/TLS/RTP/SAVPF 111
c=IN IP4 0.0.0.0
a=ice-ufrag:abcd
a=ice-pwd:abcdefghijklmnopqrstuvwx
a=fingerprint:sha-256 {":".join(["00"] * 32)}
a=setup:actpass
a=mid:0
a=extmap:2 {ABS_SEND_TIME}
a=extmap:3 {TRANSPORT_CC}
a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
a=sendrecv
a=rtcp-mux
a=rtpmap:111 opus/48000/2
a=rtcp-fb:111 transport-cc
m=video 9 UDP/TLS/RTP/SAVPF 45 46 103 104
c=IN IP4 0.0.0.0
a=ice-ufrag:abcd
a=ice-pwd:abcdefghijklmnopqrstuvwx
a=fingerprint:sha-256 {":".join(["00"] * 32)}
a=setup:actpass
a=mid:1
a=extmap:2 {ABS_SEND_TIME}
a=extmap:3 {TRANSPORT_CC}
a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
a=sendrecv
a=rtcp-mux
a=rtpmap:45 AV1/90000
a=rtcp-fb:45 goog-remb
a=rtcp-fb:45 transport-cc
a=fmtp:45 level-idx=5;profile=0;tier=0
a=rtpmap:46 rtx/90000
a=fmtp:46 apt=45
a=rtpmap:103 H264/90000
a=rtcp-fb:103 goog-remb
a=rtcp-fb:103 transport-cc
a=fmtp:103 packetization-mode=1;profile-level-id=42001f
a=rtpmap:104 rtx/90000
a=fmtp:104 apt=103
"""


async def _offer(pc: Any) -> tuple[str, str]:
    """The audio and the video section of an offer."""
    pc.addTransceiver("audio")
    pc.addTransceiver("video")
    return _sections((await pc.createOffer()).sdp)


def _sections(sdp: str) -> tuple[str, str]:
    audio, _, video = sdp.partition("m=video")
    return audio, "m=video" + video


def _feedback(section: str) -> dict[str, set[str]]:
    """The feedback of each codec but RTX, by name."""
    lines = section.splitlines()
    names = [x.removeprefix("a=rtpmap:").split() for x in lines if x.startswith("a=rtpmap:")]
    return {
        name.split("/")[0]: {
            x.partition(" ")[2] for x in lines if x.startswith(f"a=rtcp-fb:{number} ")
        }
        for number, name in names
        if not name.startswith("rtx/")
    }


async def test_transport_feedback_is_offered_on_our_own_video_codecs_alone() -> None:
    async with in_call(call()) as (pc,):
        audio, video = await _offer(pc)
        having = {name for name, told in _feedback(video).items() if "transport-cc" in told}
        # FlexFEC is a stream of its own.
        assert having == {"AV1", "H264", "flexfec-03"}
        assert "VP8" in _feedback(video)
        assert TRANSPORT_CC in video
        assert TRANSPORT_CC not in audio
        assert not any("transport-cc" in told for told in _feedback(audio).values())


@pytest.mark.parametrize(
    ("control", "offered"),
    [
        ("codecpilot", {"transport-cc", "goog-remb"}),
        ("gcc", {"transport-cc", "goog-remb"}),
        ("remb", {"goog-remb"}),
        ("none", set()),
    ],
)
async def test_the_congestion_control_decides_what_is_offered(
    control: str, offered: set[str]
) -> None:
    async with in_call(call(congestion_control=control)) as (pc,):
        _, video = await _offer(pc)
        feedback = _feedback(video)
        for name in ("AV1", "H264"):
            assert feedback[name] & {"transport-cc", "goog-remb"} == offered
        assert (TRANSPORT_CC in video) == ("transport-cc" in offered)


async def test_an_answer_takes_chromiums_ids_and_leaves_its_sound_out() -> None:
    async with in_call(call()) as (pc,):
        await pc.setRemoteDescription(RTCSessionDescription(sdp=CHROMIUM_OFFER, type="offer"))
        pc.addTrack(DrawnTrack())
        audio, video = _sections((await pc.createAnswer()).sdp)
        assert f"a=extmap:3 {TRANSPORT_CC}" in video
        assert f"a=extmap:2 {ABS_SEND_TIME}" in video
        assert {"transport-cc", "goog-remb"} <= _feedback(video)["AV1"]
        assert {"transport-cc", "goog-remb"} <= _feedback(video)["H264"]
        assert TRANSPORT_CC not in audio
        assert _feedback(audio) == {"opus": set()}


async def test_later_offers_keep_the_number_that_chromium_gave() -> None:
    async with in_call(call()) as (pc,):
        await pc.setRemoteDescription(RTCSessionDescription(sdp=CHROMIUM_OFFER, type="offer"))
        await pc.setLocalDescription(await pc.createAnswer())
        pc.addTransceiver("video")
        sdp = (await pc.createOffer()).sdp
        ids = {x.split()[0] for x in sdp.splitlines() if x.endswith(TRANSPORT_CC)}
        assert ids == {"a=extmap:3"}
        assert sdp.count(TRANSPORT_CC) == 2


async def test_a_stock_connection_is_answered_with_remb_alone() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (
        ours,
        stock,
    ):
        stock.addTransceiver("video")
        await stock.setLocalDescription(await stock.createOffer())
        await ours.setRemoteDescription(stock.localDescription)
        sdp = (await ours.createAnswer()).sdp
        assert "transport-cc" not in sdp
        assert TRANSPORT_CC not in sdp
        assert "goog-remb" in _feedback(_sections(sdp)[1])["H264"]


async def test_a_stock_connection_leaves_transport_feedback_out_of_its_answer() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (
        ours,
        stock,
    ):
        ours.addTransceiver("video")
        await ours.setLocalDescription(await ours.createOffer())
        await stock.setRemoteDescription(ours.localDescription)
        sdp = (await stock.createAnswer()).sdp
        assert "transport-cc" not in sdp
        assert TRANSPORT_CC not in sdp


def _parameters(*feedbacks: str, uri: str = TRANSPORT_CC) -> RTCRtpParameters:
    """A section's, with a codec for each of these lists of feedback, and its RTX."""
    codecs = []
    for i, feedback in enumerate(feedbacks):
        media = RTCRtpCodecParameters(
            mimeType="video/AV1",
            clockRate=90_000,
            payloadType=100 + 2 * i,
            rtcpFeedback=[RTCRtcpFeedback(type=f) for f in feedback.split()],
        )
        rtx = RTCRtpCodecParameters(
            mimeType="video/rtx",
            clockRate=90_000,
            payloadType=101 + 2 * i,
            parameters={"apt": 100 + 2 * i},
        )
        codecs += [media, rtx]
    return RTCRtpParameters(
        codecs=codecs, headerExtensions=[RTCRtpHeaderExtensionParameters(id=5, uri=uri)]
    )


def test_packets_are_numbered_where_every_codec_was_agreed_with_feedback() -> None:
    assert negotiated_extensions(_parameters("transport-cc", "nack transport-cc")).ids == {
        TRANSPORT_CC: 5
    }


@pytest.mark.parametrize("feedbacks", [("goog-remb",), ("transport-cc", "nack"), ("",)])
def test_packets_are_not_numbered_where_a_codec_lacks_feedback(feedbacks: tuple[str, ...]) -> None:
    assert negotiated_extensions(_parameters(*feedbacks)).ids == {}


def test_feedback_without_numbers_is_not_agreed() -> None:
    parameters = _parameters("transport-cc", uri=ABS_SEND_TIME)
    assert negotiated_extensions(parameters).ids == {ABS_SEND_TIME: 5}
