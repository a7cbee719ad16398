"""Tracks that come late, end, change their size, or are not read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codecpilot.rtc.connection.receiver_driver import MAX_TRACK_FRAMES

from tests.live_call import (
    DrawnTrack,
    Viewer,
    call,
    eventually,
    in_call,
    negotiate,
    stats,
)


@pytest.mark.parametrize("size", [(321, 181), (33, 17), (16, 16)])
@pytest.mark.parametrize("codec", ["AV1", "H264"])
async def test_odd_and_small_sizes_arrive(codec: str, size: tuple[int, int]) -> None:
    async with in_call(call(codecs=(codec,)), call(codecs=(codec,))) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack(width=size[0], height=size[1]))
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        # 4:2:0 H.264 has even sizes only (our encoder crops); AV1 has any.
        expected = size if codec == "AV1" else (size[0] & ~1, size[1] & ~1)
        assert viewer.sizes == [expected]


@pytest.mark.parametrize("codec", ["AV1", "H264"])
async def test_pictures_may_change_their_size_in_mid_call(codec: str) -> None:
    async with in_call(call(codecs=(codec,)), call(codecs=(codec,))) as (a, b):
        viewer, track = Viewer(b), DrawnTrack(width=320, height=180)
        a.addTrack(track)
        await negotiate(a, b)
        for size in ((320, 180), (180, 320), (640, 360), (160, 90)):
            track.size = size
            await eventually(lambda size=size: viewer.size == size, f"{size} is shown")
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 5, "pictures go on")
        inbound = await stats(b, "inbound-rtp")
        assert (inbound.frameWidth, inbound.frameHeight) == (160, 90)
        assert inbound.undecodableFrames == 0


async def test_a_sender_without_a_track_waits_for_one() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        transceiver = a.addTransceiver("video")
        await negotiate(a, b)
        await eventually(lambda: transceiver.sender.core, "the sender has started")
        await asyncio.sleep(0.2)
        outbound = await stats(a, "outbound-rtp")
        assert (outbound.framesCaptured, outbound.packetsSent, viewer.count) == (0, 0, 0)
        transceiver.sender.replaceTrack(DrawnTrack())
        await eventually(lambda: viewer.count > 5, "pictures arrive")


async def test_after_its_track_has_ended_a_sender_takes_another() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer, track = Viewer(b), DrawnTrack(width=320, height=180)
        sender = a.addTrack(track)
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        track.stop()
        await asyncio.sleep(0.3)
        seen = viewer.count
        await asyncio.sleep(0.3)
        assert viewer.count == seen, "pictures come from an ended track"
        assert not viewer.ended
        sender.replaceTrack(DrawnTrack(width=160, height=120))
        await eventually(lambda: viewer.size == (160, 120), "the next track is shown")


async def test_a_track_that_nobody_reads_keeps_the_newest_pictures_only() -> None:
    async with in_call(call(), call()) as (a, b):
        tracks: list[Any] = []
        b.on("track", tracks.append)
        a.addTrack(DrawnTrack(width=64, height=64, fps=60))
        await negotiate(a, b)
        await eventually(lambda: _decoded(b, MAX_TRACK_FRAMES + 20), "pictures are decoded")
        assert tracks[0]._queue.qsize() <= MAX_TRACK_FRAMES
        assert (await stats(b, "inbound-rtp")).framesDropped >= 20


async def _decoded(pc: Any, count: int) -> bool:
    inbound = await stats(pc, "inbound-rtp")
    return inbound is not None and inbound.framesDecoded > count
