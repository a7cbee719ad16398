"""A browser whose decoder is too slow, as its page says over a data channel, is sent H.264."""

from __future__ import annotations

from typing import Any

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationDecision, AdaptationReason

from tests.browser.playing import decoded
from tests.live_call import DrawnTrack, call, eventually, in_call
from tests.slow_page import slow_page

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_slow_decoder_of_chromium_is_spared(chromium_peer: Any) -> None:
    peer = chromium_peer()
    await peer.open(decode_reports=True)
    async with in_call(call(adaptation=True)) as (pc,):
        said: list[AdaptationDecision] = []
        pc.on("adaptation", said.append)
        # So small that no load of the machine makes our own encoder late.
        sender = pc.addTransceiver(DrawnTrack(width=160, height=96), direction="sendonly").sender
        await peer.offer(pc)
        await eventually(lambda: decoded(peer), "Chromium decodes a picture", within_s=15)
        (transceiver,) = [t for t in pc.getTransceivers() if t.sender.track is sender.track]

        async def is_believed() -> bool:
            await peer.report(slow_page(mid=transceiver.mid))
            return any(d.reason is AdaptationReason.PEER_DECODE for d in said)

        await eventually(is_believed, "it is believed")
        assert sender.core.codec.codec is Codec.H264
        count = await decoded(peer)

        async def goes_on() -> bool:
            return await decoded(peer) > count + 15

        await eventually(goes_on, "Chromium decodes on")
        assert await peer.codec_of(await peer.stats("inbound-rtp")) == "video/H264"
