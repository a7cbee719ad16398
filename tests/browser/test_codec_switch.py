"""Our sender changes its codec in mid-call, on one stream and without renegotiation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codecpilot.codecs.types import Codec

from tests.browser.playing import decoded, plays_smoothly
from tests.live_call import DrawnTrack, call, eventually, in_call, stats

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
MAX_FROZEN_S = 0.3
# A busy machine stalls sender and browser alike; a fault of the switch shows in every round.
ROUNDS = 3


async def test_chromium_follows_from_av1_to_h264_and_back(chromium_peer: Any) -> None:
    peer = chromium_peer()
    await peer.open()
    async with in_call(call()) as (pc,):
        sender = pc.addTransceiver(DrawnTrack(width=640, height=360), direction="sendonly").sender
        await peer.answer(pc)
        await plays_smoothly(pc, peer)
        for _ in range(ROUNDS):
            before = await peer.stats("inbound-rtp")
            await _switch(peer, sender, Codec.H264)
            await _switch(peer, sender, Codec.AV1)
            after = await peer.stats("inbound-rtp")
            assert after["ssrc"] == before["ssrc"]
            assert after["keyFramesDecoded"] == before["keyFramesDecoded"] + 2
            assert after["pliCount"] == 0
            frozen_s = after["totalFreezesDuration"] - before["totalFreezesDuration"]
            if frozen_s < MAX_FROZEN_S:
                break
        assert 0 <= frozen_s < MAX_FROZEN_S
        outbound = await stats(pc, "outbound-rtp")
        assert outbound.keyFramesEncoded == after["keyFramesDecoded"]


async def _switch(peer: Any, sender: Any, codec: Codec) -> None:
    count = await decoded(peer)
    sender.core.set_codec(codec)

    async def goes_on() -> bool:
        return await decoded(peer) > count + 30

    await eventually(goes_on, f"{codec} is decoded")
    assert await peer.codec_of(await peer.stats("inbound-rtp")) == f"video/{codec}"
    # A freeze is counted with the picture that ends it.
    await asyncio.sleep(0.2)
