"""Calls between two of ours over real sockets: tracks that come, go and change."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from av import Packet

from codecpilot.codecs.types import Codec
from codecpilot.rtc.connection.capabilities import video_capabilities
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
        assert outbound.targetBitrate == 400_000
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


async def test_a_picture_that_cannot_be_encoded_is_left_out_and_the_call_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with in_call(call(codecs=("H264",)), call(codecs=("H264",))) as (a, b):
        viewer, track = Viewer(b), DrawnTrack(width=64, height=64)
        a.addTrack(track)
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        with caplog.at_level(logging.WARNING, logger="codecpilot.rtc"):
            given, track.size = track.given, (1, 1)
            await eventually(lambda: track.given > given + 5, "pictures of one pixel are read")
        assert 1 <= sum("was not sent" in r.getMessage() for r in caplog.records) <= 2
        track.size, seen = (64, 64), viewer.count
        await eventually(lambda: viewer.count > seen + 5, "pictures go on")
        assert viewer.sizes == [(64, 64)]


async def test_what_is_no_picture_is_left_out_and_the_call_goes_on() -> None:
    class Packets(DrawnTrack):
        async def recv(self) -> Any:
            frame = await super().recv()
            return frame if self.given > 5 else Packet(b"encoded elsewhere")

    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(Packets())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")


async def test_an_applications_faulty_listener_does_not_stop_the_call() -> None:
    def fail(frame: Any) -> None:
        raise RuntimeError("a fault of the application")

    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.on("frameencoded", fail)
        b.on("framereceived", fail)
        b.on("framedecoded", fail)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")


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


async def test_a_track_that_fails_ends_and_the_call_goes_on() -> None:
    class Failing(DrawnTrack):
        async def recv(self) -> Any:
            if self.given >= 5:
                raise RuntimeError("the camera is gone")
            return await super().recv()

    async with in_call(call(), call()) as (a, b):
        viewer, failing = Viewer(b), Failing()
        sender = a.addTrack(failing)
        await negotiate(a, b)
        await eventually(lambda: failing.readyState == "ended", "the track has ended")
        sender.replaceTrack(DrawnTrack(width=160, height=120))
        await eventually(lambda: viewer.size == (160, 120), "the next track is shown")


async def test_a_track_added_later_is_sent_after_renegotiation() -> None:
    async with in_call(call(), call()) as (a, b):
        here, there = Viewer(a), Viewer(b)
        a.addTrack(DrawnTrack(width=320, height=180))
        await negotiate(a, b)
        await eventually(lambda: there.count > 5, "pictures arrive")
        b.addTrack(DrawnTrack(width=160, height=120))
        await negotiate(b, a)
        await eventually(lambda: here.size == (160, 120), "the later track is shown")
        seen = there.count
        await eventually(lambda: there.count > seen + 5, "the first track goes on")
        assert len(a.getTransceivers()) == len(b.getTransceivers()) == 1


@pytest.mark.parametrize("again", ["same side", "other side"])
async def test_a_second_track_gets_a_section_of_its_own(again: str) -> None:
    async with in_call(call(), call()) as (a, b):
        viewers: list[Viewer] = []
        b.on("track", lambda track: viewers.append(Viewer(b, track)))
        a.addTrack(DrawnTrack(width=320, height=180))
        await negotiate(a, b)
        await eventually(lambda: viewers and viewers[0].count > 5, "the first track is shown")
        a.addTrack(DrawnTrack(width=160, height=120))
        if again == "same side":
            await negotiate(a, b)
        else:
            b.addTransceiver("video", direction="recvonly")
            await negotiate(b, a)
        await eventually(
            lambda: len(viewers) == 2 and viewers[1].size == (160, 120), "the second is shown"
        )
        seen = viewers[0].count
        await eventually(lambda: viewers[0].count > seen + 5, "the first goes on")
        assert viewers[0].sizes == [(320, 180)]
        assert (await stats(b, "inbound-rtp")).undecodableFrames == 0


async def test_a_direction_turned_off_stops_the_pictures_and_on_again_they_go_on() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer, track = Viewer(b), DrawnTrack()
        a.addTrack(track)
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        a.getTransceivers()[0].direction = "inactive"
        await negotiate(a, b)
        await asyncio.sleep(0.3)
        seen, given = viewer.count, track.given
        await asyncio.sleep(0.5)
        assert viewer.count <= seen + 1
        assert track.given > given, "frames gather in a track that is not read"
        a.getTransceivers()[0].direction = "sendrecv"
        await negotiate(a, b)
        await eventually(lambda: viewer.count > seen + 5, "pictures go on")


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
    import time

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
    import threading

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


async def test_a_codec_that_the_peer_gives_up_is_left_in_mid_call() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        h264 = [c for c in video_capabilities().codecs if c.mimeType != "video/AV1"]
        b.getTransceivers()[0].setCodecPreferences(h264)
        await negotiate(b, a)
        await eventually(lambda: _codec(b, "H264"), "H.264 is received")
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 5, "pictures go on")
        assert (await stats(b, "inbound-rtp")).undecodableFrames == 0


async def _codec(pc: Any, name: str) -> bool:
    return bool((await stats(pc, "inbound-rtp")).codec == name)


async def test_the_receivers_estimate_reaches_the_sender() -> None:
    async with in_call(call(), call()) as (a, b):
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
