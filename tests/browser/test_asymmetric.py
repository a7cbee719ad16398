"""One direction H.264 and the other AV1: from the call's setup on, and exchanged during it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codecpilot.codecs.types import Codec

from tests.browser.playing import decoded, plays_smoothly, shows_moving_pictures
from tests.live_call import DrawnTrack, Viewer, call, eventually, in_call, stats

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
MAX_FROZEN_S = 0.3
# A busy machine stalls sender and browser alike; a fault of the switch shows in every round.
ROUNDS = 3


@pytest.mark.parametrize("offerer", ["Chromium", "we"])
async def test_each_direction_has_a_codec_of_its_own_and_they_change_places(
    offerer: str, chromium_peer: Any
) -> None:
    peer = chromium_peer()
    await peer.open(camera=True)
    # A browser takes no notice of a score.
    async with in_call(call(send_codecs=("H264", "AV1"), rtc_score=0.9)) as (pc,):
        viewer = Viewer(pc)
        sender = pc.addTrack(DrawnTrack(width=640, height=360))
        sender.set_codec("H264")
        await (peer.offer(pc) if offerer == "Chromium" else peer.answer(pc))
        await plays_smoothly(pc, peer)
        await shows_moving_pictures(peer)
        await viewer.sees_moving_pictures()
        assert await _codecs(pc, peer) == ("H264", "AV1")
        for _ in range(ROUNDS):
            before = await _frozen_s(pc, peer)
            await _exchange(pc, peer, ours=Codec.AV1, theirs=Codec.H264)
            await _exchange(pc, peer, ours=Codec.H264, theirs=Codec.AV1)
            frozen_s = [b - a for a, b in zip(before, await _frozen_s(pc, peer), strict=True)]
            if max(frozen_s) < MAX_FROZEN_S:
                break
        assert min(frozen_s) >= 0
        assert max(frozen_s) < MAX_FROZEN_S


async def _exchange(pc: Any, peer: Any, *, ours: Codec, theirs: Codec) -> None:
    counts = await decoded(peer), (await stats(pc, "inbound-rtp")).framesDecoded
    pc.getSenders()[0].set_codec(ours)
    await peer.send_codec(theirs)

    async def goes_on() -> bool:
        inbound = await stats(pc, "inbound-rtp")
        is_heard = inbound.framesDecoded > counts[1] + 30 and inbound.codec == theirs
        return is_heard and await decoded(peer) > counts[0] + 30

    await eventually(goes_on, f"{ours} and {theirs} are decoded", within_s=20)
    # A freeze is counted with the picture that ends it.
    await asyncio.sleep(0.2)
    assert await _codecs(pc, peer) == (ours, theirs)


async def _codecs(pc: Any, peer: Any) -> tuple[str, str]:
    """Of what Chromium decodes, and of what we do."""
    theirs = await peer.codec_of(await peer.stats("inbound-rtp"))
    return theirs.removeprefix("video/"), (await stats(pc, "inbound-rtp")).codec


async def _frozen_s(pc: Any, peer: Any) -> tuple[float, float]:
    inbound = await peer.stats("inbound-rtp")
    ours = await stats(pc, "inbound-rtp")
    return inbound["totalFreezesDuration"], ours.totalFreezesDuration
