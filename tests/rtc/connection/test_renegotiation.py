"""Later rounds of offer and answer between two of ours."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from aiortc import RTCSessionDescription

from codecpilot.rtc.connection.capabilities import video_capabilities

from tests.live_call import (
    DrawnTrack,
    Viewer,
    call,
    eventually,
    in_call,
    negotiate,
    stats,
)


async def test_a_track_added_later_is_sent_after_renegotiation() -> None:
    async with in_call(call(), call()) as (a, b):
        here, there = Viewer(a), Viewer(b)
        a.addTrack(DrawnTrack(width=320, height=180))
        await negotiate(a, b)
        await eventually(lambda: there.count > 5, "pictures arrive")
        b.addTrack(DrawnTrack(width=160, height=120))
        await negotiate(b, a)
        await eventually(lambda: here.size == (160, 120), "the later track is shown")
        seen = there.count
        await eventually(lambda: there.count > seen + 5, "the first track goes on")
        assert len(a.getTransceivers()) == len(b.getTransceivers()) == 1


@pytest.mark.parametrize("again", ["same side", "other side"])
async def test_a_second_track_gets_a_section_of_its_own(again: str) -> None:
    async with in_call(call(), call()) as (a, b):
        viewers: list[Viewer] = []
        b.on("track", lambda track: viewers.append(Viewer(b, track)))
        a.addTrack(DrawnTrack(width=320, height=180))
        await negotiate(a, b)
        await eventually(lambda: viewers and viewers[0].count > 5, "the first track is shown")
        a.addTrack(DrawnTrack(width=160, height=120))
        if again == "same side":
            await negotiate(a, b)
        else:
            b.addTransceiver("video", direction="recvonly")
            await negotiate(b, a)
        await eventually(
            lambda: len(viewers) == 2 and viewers[1].size == (160, 120), "the second is shown"
        )
        seen = viewers[0].count
        await eventually(lambda: viewers[0].count > seen + 5, "the first goes on")
        assert viewers[0].sizes == [(320, 180)]
        assert (await stats(b, "inbound-rtp")).undecodableFrames == 0


async def test_a_direction_turned_off_stops_the_pictures_and_on_again_they_go_on() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer, track = Viewer(b), DrawnTrack()
        a.addTrack(track)
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        a.getTransceivers()[0].direction = "inactive"
        await negotiate(a, b)
        await asyncio.sleep(0.3)
        seen, given = viewer.count, track.given
        await asyncio.sleep(0.5)
        assert viewer.count <= seen + 1
        assert track.given > given, "frames gather in a track that is not read"
        a.getTransceivers()[0].direction = "sendrecv"
        await negotiate(a, b)
        await eventually(lambda: viewer.count > seen + 5, "pictures go on")


async def test_a_codec_that_the_peer_gives_up_is_left_in_mid_call() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        h264 = [c for c in video_capabilities().codecs if c.mimeType != "video/AV1"]
        b.getTransceivers()[0].setCodecPreferences(h264)
        await negotiate(b, a)
        await eventually(lambda: _codec(b, "H264"), "H.264 is received")
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 5, "pictures go on")
        assert (await stats(b, "inbound-rtp")).undecodableFrames == 0


async def _codec(pc: Any, name: str) -> bool:
    return bool((await stats(pc, "inbound-rtp")).codec == name)


async def test_a_later_round_may_name_another_source() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        sender = a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        (receiver,) = b.getReceivers()
        old, new = receiver.core.remote_ssrc, receiver.core.remote_ssrc ^ 1
        handle = receiver.transport._handle_rtp_data

        async def renamed(data: bytes, arrival_time_ms: int) -> None:
            data = data[:8] + data[8:12].replace(old.to_bytes(4), new.to_bytes(4)) + data[12:]
            await handle(data, arrival_time_ms=arrival_time_ms)

        await a.setLocalDescription(await a.createOffer())
        offer = a.localDescription.sdp.replace(str(old), str(new))
        receiver.transport._handle_rtp_data = renamed
        await b.setRemoteDescription(RTCSessionDescription(sdp=offer, type="offer"))
        await b.setLocalDescription(await b.createAnswer())
        await a.setRemoteDescription(b.localDescription)
        await eventually(lambda: receiver.core.remote_ssrc == new, "the new source is followed")
        seen = viewer.count
        sender.core.request_key()
        await eventually(lambda: viewer.count > seen + 5, "pictures go on")


async def test_a_stream_that_began_with_aiortcs_own_codec_keeps_it() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        vp8 = [c for c in video_capabilities().codecs if c.mimeType == "video/VP8"]
        transceiver = a.addTransceiver(DrawnTrack())
        transceiver.setCodecPreferences(vp8)
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        transceiver.setCodecPreferences([*vp8, video_capabilities().codecs[0]])
        await negotiate(a, b)
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 10, "pictures go on")
        assert transceiver.sender.core is None
        assert b.getReceivers()[0].core is None


async def test_an_offer_that_gives_extensions_one_id_is_answered_without_them() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        await a.setLocalDescription(await a.createOffer())
        sdp = re.sub(r"a=extmap:[35678] ", "a=extmap:4 ", a.localDescription.sdp)
        await b.setRemoteDescription(RTCSessionDescription(sdp=sdp, type="offer"))
        await b.setLocalDescription(await b.createAnswer())
        await a.setRemoteDescription(b.localDescription)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        assert set(b.getReceivers()[0].core.settings.extensions.ids.values()) == {1}
