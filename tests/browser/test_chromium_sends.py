"""We receive what Chromium sends, whichever side makes the offer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.browser.chromium import ChromiumPeer
from tests.live_call import Viewer, call, eventually, in_call, stats

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SIZE = (640, 360)
MIN_PLAYED_RATIO = 0.85
WINDOWS = 4
WINDOW_S = 1.5


async def _plays_smoothly(pc: Any, peer: ChromiumPeer, viewer: Viewer) -> Any:
    """Watch until a window has (nearly) all that Chromium encoded and no freeze; our statistics then."""
    await eventually(lambda: viewer.count, "a picture of Chromium's camera is decoded", within_s=15)
    before, encoded_before = await stats(pc, "inbound-rtp"), await _encoded(peer)
    for _ in range(WINDOWS):
        await asyncio.sleep(WINDOW_S)
        now, encoded_now = await stats(pc, "inbound-rtp"), await _encoded(peer)
        played = now.framesDecoded - before.framesDecoded
        encoded = encoded_now - encoded_before
        frozen = now.freezeCount - before.freezeCount
        before, encoded_before = now, encoded_now
        if encoded >= 10 * WINDOW_S and played >= MIN_PLAYED_RATIO * encoded and not frozen:
            # Chromium's statistics are up to 50 ms old.
            assert now.framesDecoded <= encoded_now + 5, "more was decoded than was encoded"
            return now
    raise AssertionError(f"{played} of {encoded} frames, {frozen} freezes in {WINDOW_S} s")


async def _encoded(peer: ChromiumPeer) -> int:
    outbound = await peer.stats("outbound-rtp")
    return int(outbound["framesEncoded"]) if outbound else 0


@pytest.mark.parametrize("offerer", ["Chromium", "we"])
@pytest.mark.parametrize("codec", ["AV1", "H264"])
async def test_pictures_arrive_smoothly_from_one_key_frame(
    codec: str, offerer: str, chromium_peer: Any
) -> None:
    peer = chromium_peer(receive=False, codec=codec)
    await peer.open(camera=True)
    async with in_call(call(codecs=(codec,))) as (pc,):
        viewer = Viewer(pc)
        if offerer == "we":
            pc.addTransceiver("video", direction="recvonly")
            await peer.answer(pc)
        else:
            offer = await peer.offer(pc)
            # RFC 8829 5.2's second range: a stack that only knows 96..127 would renumber it.
            assert codec != "AV1" or 35 <= _payload_type(offer, "AV1/90000") <= 63
        inbound = await _plays_smoothly(pc, peer, viewer)
        outbound = await peer.stats("outbound-rtp")
        assert outbound is not None
        assert inbound.codec == codec
        assert (inbound.frameWidth, inbound.frameHeight) == SIZE
        assert (outbound["frameWidth"], outbound["frameHeight"]) == SIZE
        assert (inbound.keyFramesDecoded, inbound.pliCount) == (1, 0)
        assert (inbound.malformedPackets, inbound.undecodableFrames) == (0, 0)
        assert viewer.size == SIZE
        await viewer.sees_moving_pictures()


async def test_a_described_stream_of_two_temporal_layers_is_decoded_whole(
    chromium_peer: Any,
) -> None:
    peer = chromium_peer(receive=False, codec="AV1")
    await peer.open(camera=True, scalability_mode="L1T2")
    async with in_call(call()) as (pc,):
        viewer = Viewer(pc)
        layers: set[int] = set()
        described: set[bool] = set()

        def note(frame: Any) -> None:
            layers.add(frame.temporal_id)
            described.add(frame.dependencies is not None)

        pc.on("framereceived", note)
        offer = await peer.offer(pc)
        assert "dependency-descriptor" in offer
        await _plays_smoothly(pc, peer, viewer)
        assert layers == {0, 1}
        assert described == {True}


def _payload_type(sdp: str, rtpmap: str) -> int:
    line = next(s for s in sdp.splitlines() if s.startswith("a=rtpmap:") and s.endswith(rtpmap))
    return int(line.removeprefix("a=rtpmap:").split()[0])


@pytest.mark.parametrize("codec", ["AV1", "H264"])
async def test_pictures_that_change_their_size_are_shown_in_theirs(
    codec: str, chromium_peer: Any
) -> None:
    peer = chromium_peer(receive=False, codec=codec)
    await peer.open(camera=True)
    async with in_call(call()) as (pc,):
        viewer = Viewer(pc)
        await peer.offer(pc)
        await eventually(lambda: viewer.size == SIZE, "the camera's size is shown", within_s=15)
        await peer.scale_down(2)
        await eventually(lambda: viewer.size == (320, 180), "half the size is shown")
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 20, "pictures go on")
        inbound = await stats(pc, "inbound-rtp")
        assert (inbound.frameWidth, inbound.frameHeight) == (320, 180)
        assert (inbound.pliCount, inbound.undecodableFrames) == (0, 0)


async def test_chromium_hanging_up_ends_the_track_and_the_connection(chromium_peer: Any) -> None:
    peer = chromium_peer(receive=False)
    await peer.open(camera=True)
    async with in_call(call()) as (pc,):
        viewer = Viewer(pc)
        await peer.offer(pc)
        await eventually(lambda: viewer.count > 5, "pictures arrive", within_s=15)
        await peer.hang_up()
        await eventually(lambda: viewer.ended, "the received track has ended")
        await eventually(lambda: pc.connectionState == "closed", "the connection has closed")
