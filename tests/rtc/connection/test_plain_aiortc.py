"""Calls with aiortc's own RTCPeerConnection: what it lacks is left out by negotiation, the rest works."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import av
import pytest
from aiortc import RTCBundlePolicy, RTCConfiguration, RTCPeerConnection, RTCRtpSender
from aiortc.contrib.media import MediaBlackhole, MediaRecorder

from codecpilot.rtc.connection import CallPeerConnection

from tests.live_call import (
    ALONE,
    DrawnTrack,
    Listener,
    ToneTrack,
    Viewer,
    call,
    eventually,
    in_call,
    negotiate,
    stats,
)


async def _connect(ours: Any, stock: Any, *, we_offer: bool) -> None:
    await (negotiate(ours, stock) if we_offer else negotiate(stock, ours))


@pytest.mark.parametrize("we_offer", [True, False], ids=["we offer", "they offer"])
async def test_h264_is_decoded_both_ways(we_offer: bool) -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        here, there = Viewer(ours), Viewer(stock)
        ours.addTrack(DrawnTrack(width=320, height=180))
        stock.addTrack(DrawnTrack(width=240, height=180))
        await _connect(ours, stock, we_offer=we_offer)
        await eventually(lambda: here.count > 12 and there.count > 12, "pictures both ways")
        assert (here.size, there.size) == ((240, 180), (320, 180))
        await here.sees_moving_pictures()
        await there.sees_moving_pictures()
        inbound, outbound = await stats(ours, "inbound-rtp"), await stats(ours, "outbound-rtp")
        assert (inbound.codec, outbound.codec) == ("H264", "H264")
        assert (inbound.malformedPackets, inbound.undecodableFrames) == (0, 0)
        assert inbound.frameWidth == 240
        assert inbound.framesDecoded >= 12
        assert 1 <= outbound.keyFramesEncoded <= 3


@pytest.mark.parametrize("we_offer", [True, False], ids=["we offer", "they offer"])
async def test_the_call_falls_back_to_aiortcs_own_vp8(we_offer: bool) -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        here, there = Viewer(ours), Viewer(stock)
        ours.addTrack(DrawnTrack(width=320, height=180))
        vp8 = [
            c
            for c in RTCRtpSender.getCapabilities("video").codecs
            if c.mimeType in ("video/VP8", "video/rtx")
        ]
        transceiver = stock.addTransceiver(DrawnTrack(width=240, height=180))
        transceiver.setCodecPreferences(vp8)
        await _connect(ours, stock, we_offer=we_offer)
        await eventually(lambda: here.count > 12 and there.count > 12, "pictures both ways")
        assert (here.size, there.size) == ((240, 180), (320, 180))
        assert "VP8" in ours.localDescription.sdp
        sender = ours.getSenders()[0]
        assert sender.core is None
        assert ours.getReceivers()[0].core is None
        outbound = await stats(ours, "outbound-rtp")
        assert outbound.packetsSent > 12


async def test_audio_data_and_video_share_one_connection() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        viewers = Viewer(ours), Viewer(stock)
        listeners = Listener(ours), Listener(stock)
        for pc in (ours, stock):
            pc.addTrack(ToneTrack())
            pc.addTrack(DrawnTrack())
        channel = ours.createDataChannel("chat")
        heard: list[str] = []

        @stock.on("datachannel")
        def on_channel(theirs: Any) -> None:
            theirs.on("message", lambda text: theirs.send(f"{text}, too"))

        channel.on("message", heard.append)
        channel.on("open", lambda: channel.send("hello"))
        await negotiate(ours, stock)
        await eventually(lambda: all(v.count > 5 for v in viewers), "pictures both ways")
        await eventually(lambda: all(x.loudest > 1000 for x in listeners), "sound both ways")
        await eventually(lambda: heard == ["hello, too"], "an answer on the data channel")
        assert (await stats(ours, "inbound-rtp", media="audio")).packetsReceived > 3


async def test_a_recorder_and_a_black_hole_take_our_received_tracks(tmp_path: Path) -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        recorder = MediaRecorder(str(tmp_path / "call.mp4"))
        hole = MediaBlackhole()
        ours.on("track", recorder.addTrack)
        stock.on("track", hole.addTrack)
        stock.addTrack(ToneTrack())
        stock.addTrack(DrawnTrack())
        ours.addTrack(DrawnTrack())
        await negotiate(stock, ours)
        await recorder.start()
        await hole.start()
        await eventually(lambda: _decoded(ours, 20), "pictures arrive", within_s=15)
        await recorder.stop()
        await hole.stop()
    with av.open(str(tmp_path / "call.mp4")) as container:
        assert len(container.streams.audio) == 1
        frames = list(container.decode(video=0))
        assert 10 <= len(frames) <= 200
        assert {(f.width, f.height) for f in frames} == {(320, 180)}


async def test_a_replaced_track_is_shown_on_the_other_side() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        viewer = Viewer(stock)
        sender = ours.addTrack(DrawnTrack(width=320, height=180))
        await negotiate(ours, stock)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        sender.replaceTrack(DrawnTrack(width=160, height=120))
        await eventually(lambda: viewer.size == (160, 120), "the new track is shown")
        sender.replaceTrack(None)
        await asyncio.sleep(0.3)
        seen = viewer.count
        await asyncio.sleep(0.5)
        assert seen <= viewer.count <= seen + 2, "pictures come without a track"
        sender.replaceTrack(DrawnTrack(width=320, height=180))
        await eventually(lambda: viewer.size == (320, 180), "a track after none is shown")


@pytest.mark.parametrize("we_offer", [True, False], ids=["we offer", "they offer"])
async def test_two_video_tracks_keep_apart(we_offer: bool) -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        sizes = [(320, 180), (160, 120)]
        here, there = _viewers(ours), _viewers(stock)
        for pc in (ours, stock):
            for width, height in sizes:
                pc.addTrack(DrawnTrack(width=width, height=height, fps=25))
        await _connect(ours, stock, we_offer=we_offer)
        for viewers in (here, there):
            await eventually(
                lambda viewers=viewers: len(viewers) == 2 and all(v.count > 5 for v in viewers),
                "pictures of both tracks",
            )
            assert [v.sizes for v in viewers] == [[size] for size in sizes]


async def test_closing_here_ends_their_track_and_ours() -> None:
    ours, stock = call(), RTCPeerConnection(ALONE)
    here, there = Viewer(ours), Viewer(stock)
    mine, theirs = DrawnTrack(), DrawnTrack()
    ours.addTrack(mine)
    stock.addTrack(theirs)
    await negotiate(ours, stock)
    await eventually(lambda: here.count > 5 and there.count > 5, "pictures both ways")
    await ours.close()
    await ours.close()
    await eventually(lambda: here.ended and there.ended, "both received tracks have ended")
    assert mine.readyState == "ended"
    assert ours.connectionState == "closed"
    await stock.close()


async def test_closing_there_ends_our_received_track() -> None:
    ours, stock = call(), RTCPeerConnection(ALONE)
    here = Viewer(ours)
    ours.addTrack(DrawnTrack())
    stock.addTrack(DrawnTrack())
    await negotiate(ours, stock)
    await eventually(lambda: here.count > 5, "pictures arrive")
    await stock.close()
    await eventually(lambda: here.ended, "our received track has ended")
    await eventually(lambda: ours.connectionState == "closed", "the connection has closed")
    await ours.close()


async def test_stock_connections_beside_ours_call_each_other_as_before() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE), RTCPeerConnection(ALONE)) as (_, a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        assert "VP8" in b.localDescription.sdp
        assert "AV1" not in b.localDescription.sdp


def _viewers(pc: Any) -> list[Viewer]:
    viewers: list[Viewer] = []
    pc.on("track", lambda track: viewers.append(Viewer(pc, track)))
    return viewers


async def _decoded(pc: Any, count: int) -> bool:
    inbound = await stats(pc, "inbound-rtp")
    return inbound is not None and inbound.framesDecoded > count


@pytest.mark.parametrize("policy", list(RTCBundlePolicy))
async def test_every_bundle_policy_carries_all_media(policy: RTCBundlePolicy) -> None:
    configuration = RTCConfiguration(iceServers=[], bundlePolicy=policy)
    async with in_call(CallPeerConnection(configuration), RTCPeerConnection(ALONE)) as (a, b):
        viewer, listener, channels = Viewer(b), Listener(b), []
        b.on("datachannel", channels.append)
        a.addTrack(ToneTrack())
        a.addTrack(DrawnTrack())
        a.createDataChannel("chat")
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5 and listener.loudest > 1000, "all media arrive")
        await eventually(lambda: channels, "the data channel opens")
