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


async def test_chromium_follows_from_av1_to_h264_and_back(chromium_peer: Any) -> None:
    peer = chromium_peer()
    await peer.open()
    async with in_call(call()) as (pc,):
        sender = pc.addTransceiver(DrawnTrack(width=640, height=360), direction="sendonly").sender
        await peer.answer(pc)
        await plays_smoothly(pc, peer)
        before = await peer.stats("inbound-rtp")
        seen = []
        for codec in (Codec.H264, Codec.AV1):
            sender.core.set_codec(codec)
            count = await decoded(peer)
            await eventually(lambda count=count: _goes_on(peer, count), f"{codec} is decoded")
            seen.append(await peer.codec_of(await peer.stats("inbound-rtp")))
            await asyncio.sleep(0.5)
        after = await peer.stats("inbound-rtp")
        assert seen == ["video/H264", "video/AV1"]
        assert after["ssrc"] == before["ssrc"]
        assert after["keyFramesDecoded"] == before["keyFramesDecoded"] + 2
        assert after["pliCount"] == 0
        frozen_s = after["totalFreezesDuration"] - before["totalFreezesDuration"]
        assert 0 <= frozen_s < MAX_FROZEN_S
        outbound = await stats(pc, "outbound-rtp")
        assert outbound.keyFramesEncoded == 3
        assert abs(outbound.framesSent - after["framesDecoded"]) < 15


async def _goes_on(peer: Any, count: int) -> bool:
    return await decoded(peer) > count + 25
