"""Chromium receives what we send, and shows it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.playing import plays_smoothly, shows_moving_pictures
from tests.live_call import DrawnTrack, call, eventually, in_call, stats

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SIZE = (640, 360)


@pytest.mark.parametrize(
    ("settings", "mime_type", "described"),
    [
        ({}, "video/AV1", True),
        ({"dependency_descriptor": False}, "video/AV1", False),
        ({"codecs": ("H264",)}, "video/H264", True),
    ],
    ids=["AV1", "AV1 without dependency descriptor", "H264"],
)
async def test_pictures_play_smoothly_from_one_key_frame(
    settings: dict[str, Any], mime_type: str, described: bool, chromium_peer: Any
) -> None:
    peer = chromium_peer()
    await peer.open()
    async with in_call(call(**settings)) as (pc,):
        pc.addTransceiver(DrawnTrack(width=SIZE[0], height=SIZE[1]), direction="sendonly")
        answer = await peer.answer(pc)
        assert ("dependency-descriptor" in answer) == described
        inbound = await plays_smoothly(pc, peer)
        await shows_moving_pictures(peer)
        assert (inbound["frameWidth"], inbound["frameHeight"]) == SIZE
        assert (inbound["keyFramesDecoded"], inbound["pliCount"]) == (1, 0)
        assert await peer.codec_of(inbound) == mime_type
        outbound = await stats(pc, "outbound-rtp")
        assert outbound.codec == mime_type.removeprefix("video/")
        assert outbound.keyFramesEncoded == 1


async def test_the_answerer_sends_av1_too(chromium_peer: Any) -> None:
    peer = chromium_peer()
    await peer.open()
    async with in_call(call()) as (pc,):
        pc.addTrack(DrawnTrack(width=SIZE[0], height=SIZE[1]))
        offer = await peer.offer(pc)
        assert "AV1/90000" in offer
        inbound = await plays_smoothly(pc, peer)
        assert await peer.codec_of(inbound) == "video/AV1"
        await eventually(lambda: _reports(pc), "a round-trip time from Chromium's reports")


async def _reports(pc: Any) -> Any:
    return await stats(pc, "remote-inbound-rtp")
