"""Calls between two of ours over real sockets."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from codecpilot.codecs.types import Codec
from codecpilot.rtc.rtp.rtcp import ReceiverEstimatedMaximumBitrate

from tests.live_call import (
    DrawnTrack,
    Viewer,
    call,
    eventually,
    in_call,
    negotiate,
    stats,
)


@pytest.mark.parametrize("described", [True, False], ids=["described", "not described"])
@pytest.mark.parametrize("codec", ["AV1", "H264"])
async def test_each_codec_is_decoded_both_ways_without_freezes(codec: str, described: bool) -> None:
    settings = {"codecs": (codec,), "dependency_descriptor": described}
    async with in_call(call(**settings), call(**settings)) as (a, b):
        viewers = Viewer(a), Viewer(b)
        a.addTrack(DrawnTrack(width=320, height=180))
        b.addTrack(DrawnTrack(width=240, height=180))
        await negotiate(a, b)
        await eventually(lambda: all(v.count > 15 for v in viewers), "pictures both ways")
        assert [v.size for v in viewers] == [(240, 180), (320, 180)]
        inbound, outbound = await stats(b, "inbound-rtp"), await stats(a, "outbound-rtp")
        assert (inbound.codec, outbound.codec) == (codec, codec)
        assert inbound.framesDecoded <= outbound.framesSent + 5
        assert inbound.framesDecoded >= 0.8 * outbound.framesSent - 3
        assert (inbound.keyFramesDecoded, outbound.keyFramesEncoded) == (1, 1)
        assert (inbound.pliCount, inbound.undecodableFrames, inbound.malformedPackets) == (0, 0, 0)


def _target_bps(pc: Any) -> int:
    return int(pc.getSenders()[0].core.target_bps)


async def test_statistics_have_w3c_names_and_units() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack(width=320, height=180))
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 15, "pictures arrive")
        inbound, outbound = await stats(b, "inbound-rtp"), await stats(a, "outbound-rtp")
        assert outbound.ssrc == inbound.ssrc
        assert (outbound.frameWidth, outbound.frameHeight) == (320, 180)
        assert (inbound.frameWidth, inbound.frameHeight) == (320, 180)
        assert outbound.framesCaptured >= outbound.framesEncoded >= outbound.framesSent - 1 > 12
        assert 0 < outbound.totalEncodeTime < 60
        assert 0 < inbound.totalDecodeTime < 60
        assert 0.3 < inbound.totalInterFrameDelay < 60
        assert 0 < outbound.qpSum <= 255 * outbound.framesEncoded
        assert "libaom" in outbound.encoderImplementation
        assert "dav1d" in inbound.decoderImplementation
        assert 10_000 <= outbound.targetBitrate <= 400_000
        await eventually(lambda: _target_bps(a) == 400_000, "the path is found to carry it")
        assert outbound.bytesSent >= inbound.bytesReceived > 1000
        assert inbound.jitter < 90_000
        codec = (await a.getStats())[outbound.codecId]
        assert (codec.mimeType, codec.clockRate) == ("video/AV1", 90_000)
        remote = await eventually(lambda: stats(a, "remote-inbound-rtp"), "a report is heard")
        assert 0 <= remote.roundTripTime < 5
        assert -5 <= remote.packetsLost <= 5
        transport = await stats(a, "transport")
        assert transport.packetsSent > 15


async def test_there_are_no_inbound_statistics_before_the_first_packet() -> None:
    async with in_call(call(), call()) as (a, b):
        a.addTransceiver("video")
        await negotiate(a, b)
        await eventually(lambda: b.connectionState == "connected", "the connection stands")
        assert await stats(b, "inbound-rtp") is None
        assert b.getReceivers()[0].getSynchronizationSources() == []


async def test_the_codec_changes_in_mid_call_on_one_stream() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer, codecs = Viewer(b), []
        b.on("framedecoded", lambda frame: codecs.append((frame.codec, frame.key)))
        sender = a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        for codec in (Codec.H264, Codec.AV1):
            sender.core.set_codec(codec)
            await eventually(
                lambda codec=codec: [c for c, _ in codecs[-5:]] == [codec] * 5, f"{codec} is shown"
            )
        keys = [codec for codec, key in codecs if key]
        assert keys == [Codec.AV1, Codec.H264, Codec.AV1]
        inbound = await stats(b, "inbound-rtp")
        assert (inbound.pliCount, inbound.undecodableFrames) == (0, 0)


async def test_frames_are_told_of_as_they_pass() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        told: dict[str, list[Any]] = {
            n: [] for n in ("frameencoded", "framereceived", "framedecoded")
        }
        a.on("frameencoded", told["frameencoded"].append)
        for name in ("framereceived", "framedecoded"):
            b.on(name, told[name].append)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        encoded, received, decoded = told.values()
        assert encoded[0].data == received[0].data or len(encoded[0].data) > len(received[0].data)
        assert [f.frame_id for f in decoded] == [f.frame_id for f in received[: len(decoded)]]
        assert all(f.capture_wall_us is not None for f in decoded)


async def test_a_frames_capture_time_is_told_by_the_senders_clock() -> None:

    async with in_call(call(), call()) as (a, b):
        tracks: list[Any] = []
        b.on("track", tracks.append)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        (receiver,) = b.getReceivers()
        frame = await asyncio.wait_for(tracks[0].recv(), 10)
        captured_us = b.capture_wall_us(receiver, frame)
        assert captured_us is not None
        assert 0 <= time.time_ns() // 1000 - captured_us < 5_000_000


async def test_closing_frees_every_task_and_thread() -> None:

    async def one_call() -> None:
        a, b = call(), call()
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 3, "pictures arrive")
        await asyncio.gather(a.close(), b.close())
        await eventually(lambda: viewer.ended, "the received track has ended")

    await one_call()
    tasks, threads = len(asyncio.all_tasks()), threading.active_count()
    await one_call()
    await eventually(
        lambda: len(asyncio.all_tasks()) <= tasks and threading.active_count() <= threads,
        "tasks and threads are as many as before",
    )


async def test_closing_while_the_call_is_set_up_leaves_nothing_behind() -> None:
    a, b = call(), call()
    track = DrawnTrack()
    a.addTrack(track)
    await negotiate(a, b)
    await asyncio.gather(a.close(), b.close())
    assert (a.connectionState, b.connectionState) == ("closed", "closed")


async def test_the_receivers_estimate_reaches_a_sender_that_knows_no_better() -> None:
    async with in_call(call(), call(congestion_control="remb")) as (a, b):
        viewer, estimates = Viewer(b), []
        sender = a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 3, "pictures arrive")
        handle = sender.handle_rtcp_message

        def note(message: Any) -> None:
            if isinstance(message, ReceiverEstimatedMaximumBitrate):
                estimates.append(message)
            handle(message)

        sender.handle_rtcp_message = note
        await eventually(lambda: estimates, "an estimate is heard")
        assert estimates[0].ssrcs == (sender.core.settings.identity.ssrc,)
        assert estimates[0].bitrate_bps > 10_000
