"""A second round of offer and answer with Chromium, made by the other side than the first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.browser.playing import decoded, plays_smoothly
from tests.live_call import DrawnTrack, ToneTrack, Viewer, call, eventually, in_call, stats

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_we_add_a_track_to_a_call_that_chromium_offered(chromium_peer: Any) -> None:
    """Payload types and extension ids of the first round stay: what is under way goes on."""
    peer = chromium_peer()
    await peer.open(camera=True, microphone=True)
    async with in_call(call()) as (pc,):
        viewer = Viewer(pc)
        pc.addTrack(ToneTrack())
        first = await peer.offer(pc)
        await eventually(lambda: viewer.count > 5, "pictures of Chromium's camera arrive")
        pc.addTrack(DrawnTrack(width=480, height=270))
        await peer.answer(pc)
        second = pc.localDescription.sdp
        assert _numbers(second, "AV1/90000") == _numbers(first, "AV1/90000")
        assert _numbers(second, "opus/48000/2") == _numbers(first, "opus/48000/2")
        await plays_smoothly(pc, peer)
        seen, heard = viewer.count, await _samples(peer)
        await eventually(lambda: viewer.count > seen + 20, "Chromium's pictures go on")
        await eventually(lambda: _has_more(peer, heard), "our tone goes on")
        inbound = await stats(pc, "inbound-rtp")
        assert (inbound.codec, inbound.pliCount) == ("AV1", 0)
        # Chromium begins anew when its parameters change.
        assert 1 <= inbound.keyFramesDecoded <= 3


async def test_chromium_renews_a_call_that_we_offered(chromium_peer: Any) -> None:
    peer = chromium_peer()
    await peer.open(camera=True)
    async with in_call(call()) as (pc,):
        viewer = Viewer(pc)
        pc.addTrack(DrawnTrack(width=480, height=270))
        await peer.answer(pc)
        await eventually(lambda: viewer.count > 5, "pictures of Chromium's camera arrive")
        await peer.offer(pc)
        count, seen = await decoded(peer), viewer.count
        await eventually(lambda: _decoded_more(peer, count + 20), "our pictures go on")
        await eventually(lambda: viewer.count > seen + 20, "Chromium's pictures go on")
        inbound = await stats(pc, "inbound-rtp")
        assert (inbound.pliCount, inbound.undecodableFrames) == (0, 0)


def _numbers(sdp: str, rtpmap: str) -> list[str]:
    lines = [line for line in sdp.splitlines() if line.endswith(f" {rtpmap}")]
    return sorted({line.removeprefix("a=rtpmap:").split()[0] for line in lines})


async def _samples(peer: Any) -> int:
    inbound = await peer.stats("inbound-rtp", media="audio")
    return int(inbound["packetsReceived"]) if inbound else 0


async def _has_more(peer: Any, count: int) -> bool:
    return await _samples(peer) > count + 20


async def _decoded_more(peer: Any, count: int) -> bool:
    return await decoded(peer) > count


async def test_chromiums_video_turned_off_and_on_again_is_received_on(chromium_peer: Any) -> None:
    peer = chromium_peer()
    await peer.open(camera=True)
    async with in_call(call()) as (pc,):
        viewer = Viewer(pc)
        pc.addTrack(DrawnTrack(width=480, height=270))
        await peer.offer(pc)
        await eventually(lambda: viewer.count > 5, "pictures of Chromium's camera arrive")
        await peer.turn("inactive")
        await peer.offer(pc)
        await eventually(lambda: _is_still(viewer), "no picture comes while the video is off")
        await peer.turn("sendrecv")
        await peer.offer(pc)
        seen, count = viewer.count, await decoded(peer)
        await eventually(lambda: viewer.count > seen + 20, "Chromium's pictures go on")
        await eventually(lambda: _decoded_more(peer, count + 20), "our pictures go on")


async def _is_still(viewer: Viewer) -> bool:
    seen = viewer.count
    await asyncio.sleep(0.3)
    return viewer.count == seen
