"""Everything at once in one connection with Chromium: video and audio both ways and a data channel."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.browser.playing import plays_smoothly, shows_moving_pictures
from tests.live_call import (
    DrawnTrack,
    Listener,
    ToneTrack,
    Viewer,
    call,
    eventually,
    in_call,
)

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("offerer", ["Chromium", "we"])
async def test_video_audio_and_data_flow_both_ways(offerer: str, chromium_peer: Any) -> None:
    peer = chromium_peer()
    await peer.open(camera=True, microphone=True, channel=offerer == "Chromium")
    async with in_call(call()) as (pc,):
        viewer, listener, heard = Viewer(pc), Listener(pc), []
        pc.addTrack(ToneTrack())
        pc.addTrack(DrawnTrack(width=480, height=270))
        channels: list[Any] = []
        pc.on("datachannel", channels.append)
        if offerer == "we":
            channels.append(pc.createDataChannel("chat"))
            await peer.answer(pc)
        else:
            await peer.offer(pc)
        await plays_smoothly(pc, peer)
        await shows_moving_pictures(peer)
        await viewer.sees_moving_pictures()
        assert viewer.size == (640, 360)
        await eventually(lambda: listener.loudest > 500, "Chromium's beep is heard")
        await eventually(lambda: _is_loud(peer), "our tone is heard in Chromium")
        channels[0].on("message", heard.append)
        channels[0].send("from us")
        await peer.say("from Chromium")
        await eventually(lambda: heard == ["from Chromium"], "Chromium's message arrives")
        await eventually(lambda: _has_heard(peer, "from us"), "our message arrives")


async def test_closing_ends_both_tracks_and_our_tasks(chromium_peer: Any) -> None:
    before = asyncio.all_tasks()
    peer = chromium_peer()
    await peer.open(camera=True)
    pc = call()
    viewer, track = Viewer(pc), DrawnTrack()
    pc.addTrack(track)
    await peer.answer(pc)
    await eventually(lambda: viewer.count > 5, "pictures arrive")
    await pc.close()
    await eventually(lambda: viewer.ended, "the received track has ended")
    assert track.readyState == "ended", "a closed connection stops what it sent"
    await eventually(lambda: not _ours(asyncio.all_tasks() - before), "our tasks have ended")


def _ours(tasks: set[asyncio.Task[Any]]) -> list[asyncio.Task[Any]]:
    return [t for t in tasks if "rtc/connection/" in repr(t)]


async def _is_loud(peer: Any) -> bool:
    inbound = await peer.stats("inbound-rtp", media="audio")
    return inbound is not None and inbound["totalAudioEnergy"] > 0.001


async def _has_heard(peer: Any, text: str) -> bool:
    return text in await peer.heard()
