"""Losses between us and Chromium are repaired: by retransmission, and by a key frame where that fails."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch

from tests.browser.playing import decoded, plays_smoothly
from tests.live_call import DrawnTrack, Viewer, call, eventually, in_call, stats
from tests.losing import Loss

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
LOSS_RATIO = 0.05
# What else is done against loss makes repairs rare.
REPAIRS_ALONE = ResilienceSettings(fec=Switch.OFF, ltr=Switch.OFF, temporal_layers=Switch.OFF)
LOSSY_S = 2.0


def _at_random(payload_type: int) -> Callable[[bytes], bool]:
    """Loses media packets, not retransmissions, by a seed of its own."""
    rng = random.Random(5)
    return lambda data: data[1] & 0x7F == payload_type and rng.random() < LOSS_RATIO


@pytest.mark.parametrize("codec", ["AV1", "H264"])
async def test_chromium_gets_lost_packets_again(codec: str, chromium_peer: Any) -> None:
    peer, loss = chromium_peer(), Loss()
    await peer.open()
    pc = call(codecs=(codec,), target_bps=600_000, resilience=REPAIRS_ALONE)
    async with in_call(pc):
        sender = pc.addTransceiver(DrawnTrack(width=640, height=360), direction="sendonly").sender
        await peer.answer(pc)
        loss.on_the_way_out(sender.transport)
        await eventually(lambda: decoded(peer), "Chromium decodes a picture", within_s=15)
        loss.is_lost = _at_random(sender.core.codec.payload_type)
        await asyncio.sleep(LOSSY_S)
        loss.is_lost = lambda data: False
        inbound = await plays_smoothly(pc, peer)
        assert loss.lost > 0
        assert inbound["nackCount"] > 0
        assert 0 < inbound["retransmittedPacketsReceived"] <= loss.lost + 20
        assert 1 <= inbound["keyFramesDecoded"] <= 2
        outbound = await stats(pc, "outbound-rtp")
        assert outbound.nackCount > 0
        assert loss.lost * 0.8 <= outbound.retransmittedPacketsSent <= loss.lost * 3


async def test_two_videos_each_way_are_repaired_apart(chromium_peer: Any) -> None:
    """The sections share payload types: retransmissions find their stream by source."""
    peer, losses = chromium_peer(), (Loss(), Loss())
    await peer.open(camera=True, cameras=2)
    async with in_call(call(resilience=REPAIRS_ALONE)) as (pc,):
        viewers: list[Viewer] = []
        pc.on("track", lambda track: viewers.append(Viewer(pc, track)))
        sizes = [(320, 180), (240, 180)]
        senders = [pc.addTrack(DrawnTrack(width=w, height=h)) for w, h in sizes]
        await peer.offer(pc)
        transport = senders[0].transport
        losses[0].on_the_way_out(transport)
        losses[1].on_the_way_in(transport)
        await eventually(lambda: _all_play(peer, viewers, 5), "all four play", within_s=20)
        own = senders[0].core.codec.payload_type
        losses[0].is_lost, losses[1].is_lost = _at_random(own), _at_random(own)
        await asyncio.sleep(LOSSY_S)
        for loss in losses:
            loss.is_lost = lambda data: False
        seen = min(v.count for v in viewers)
        await eventually(lambda: _all_play(peer, viewers, seen + 20), "all four play on")
        assert [v.sizes for v in viewers] == [[(640, 360)]] * 2
        theirs = await peer.all_stats("inbound-rtp")
        assert {(x["frameWidth"], x["frameHeight"]) for x in theirs} == set(sizes)
        assert all(x["retransmittedPacketsReceived"] > 0 for x in theirs)
        ours = [r.core.counters for r in pc.getReceivers()]
        assert sum(c.retransmittedPacketsReceived for c in ours) > 0
        assert all(1 <= c.keyFramesDecoded <= 3 for c in ours)


async def _all_play(peer: Any, viewers: list[Viewer], count: int) -> bool:
    theirs = await peer.all_stats("inbound-rtp")
    return (
        len(theirs) == len(viewers) == 2
        and all(x.get("framesDecoded", 0) > count for x in theirs)
        and all(v.count > count for v in viewers)
    )


async def test_chromiums_picture_loss_gets_a_key_frame(chromium_peer: Any) -> None:
    """The first key frame never arrives, and no retransmission can bring it."""
    peer, loss = chromium_peer(), Loss()
    await peer.open()
    async with in_call(call()) as (pc,):
        sender = pc.addTransceiver(DrawnTrack(), direction="sendonly").sender
        loss.on_the_way_out(sender.transport)
        loss.is_lost = lambda data: sender.core is None or sender.core.counters.framesSent < 15
        await peer.answer(pc)
        inbound = await plays_smoothly(pc, peer)
        outbound = await stats(pc, "outbound-rtp")
        assert loss.lost >= 10
        assert outbound.pliCount + outbound.firCount > 0
        assert 2 <= outbound.keyFramesEncoded <= 4
        assert inbound["keyFramesDecoded"] == outbound.keyFramesEncoded - 1


@pytest.mark.parametrize("codec", ["AV1", "H264"])
async def test_we_get_chromiums_lost_packets_again(codec: str, chromium_peer: Any) -> None:
    peer, loss = chromium_peer(receive=False, codec=codec), Loss()
    await peer.open(camera=True)
    async with in_call(call(codecs=(codec,))) as (pc,):
        viewer = Viewer(pc)
        receiver = pc.addTransceiver("video", direction="recvonly").receiver
        await peer.answer(pc)
        loss.on_the_way_in(receiver.transport)
        await eventually(lambda: viewer.count, "a picture is decoded", within_s=15)
        loss.is_lost = _at_random(receiver.core.codec.payload_type)
        await asyncio.sleep(LOSSY_S)
        loss.is_lost = lambda data: False
        await eventually(lambda: viewer.count > 60, "pictures go on after the losses")
        inbound, outbound = await stats(pc, "inbound-rtp"), await peer.stats("outbound-rtp")
        assert loss.lost > 0
        assert 0 < inbound.nackCount <= 3 * loss.lost
        assert inbound.retransmittedPacketsReceived >= 0.8 * loss.lost
        # A busy machine may hold a repair up for longer than a key frame is waited for.
        assert 1 <= inbound.keyFramesDecoded <= 2
        # The two sides are asked one after the other, and a NACK may be under way.
        assert abs(outbound["nackCount"] - inbound.nackCount) <= 2
        assert inbound.totalFreezesDuration < LOSSY_S / 2


async def test_our_picture_loss_gets_a_key_frame_from_chromium(chromium_peer: Any) -> None:
    """Everything is lost for a second; what is asked for again is lost too."""
    peer, loss = chromium_peer(receive=False, codec="AV1"), Loss()
    await peer.open(camera=True)
    async with in_call(call()) as (pc,):
        viewer = Viewer(pc)
        receiver = pc.addTransceiver("video", direction="recvonly").receiver
        await peer.answer(pc)
        loss.on_the_way_in(receiver.transport)
        await eventually(lambda: viewer.count > 20, "pictures are decoded", within_s=15)
        loss.is_lost = lambda data: True
        await asyncio.sleep(1)
        seen = viewer.count
        own = receiver.core.codec.payload_type
        loss.is_lost = lambda data: data[1] & 0x7F != own
        await eventually(lambda: viewer.count > seen + 30, "pictures go on after the gap")
        inbound = await stats(pc, "inbound-rtp")
        assert inbound.pliCount > 0
        assert 2 <= inbound.keyFramesDecoded <= 4
        assert 0.8 < inbound.totalFreezesDuration < 5
