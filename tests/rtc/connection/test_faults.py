"""Faults of the application, of codecs and of tracks, which a call outlives."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from av import Packet

from codecpilot.codecs.av1_decoder import Av1Decoder
from codecpilot.codecs.av1_encoder import Av1Encoder
from codecpilot.codecs.errors import LocalError, RemoteError

from tests.live_call import (
    DrawnTrack,
    Viewer,
    call,
    eventually,
    in_call,
    negotiate,
    stats,
)


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


async def test_a_fault_of_the_core_over_a_picture_costs_that_picture_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        sender = a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        handle, faults = sender.core.handle_picture, [ZeroDivisionError("a fault of ours")]

        def fail(picture: Any) -> Any:
            if faults:
                raise faults.pop()
            return handle(picture)

        sender.core.handle_picture = fail
        seen = viewer.count
        await eventually(lambda: not faults and viewer.count > seen + 5, "pictures go on")
        assert [r.levelname for r in caplog.records if "was dropped" in r.getMessage()] == ["ERROR"]


async def test_a_fault_of_the_core_over_its_reports_costs_no_picture() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        sender = a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        poll, faults = sender.core.poll_rtcp, [ZeroDivisionError("a fault of ours")] * 10

        def fail(*, now_us: int) -> Any:
            if faults:
                raise faults.pop()
            return poll(now_us=now_us)

        sender.core.poll_rtcp = fail
        await eventually(lambda: not faults, "reports fail")
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 5, "pictures go on")


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


async def test_a_faulty_listener_of_decisions_costs_no_picture() -> None:
    told = []

    def fail(decision: Any) -> None:
        told.append(decision)
        raise RuntimeError("a fault of the application")

    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        sender = a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        a.on("adaptation", fail)
        sender.set_preset("low")
        await eventually(lambda: told, "the listener is told")
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 5, "pictures go on")


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


async def test_a_frame_that_the_decoder_refuses_is_made_up_for_by_a_key_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        decode, refused = Av1Decoder.decode, []

        def refuse_once(self: Av1Decoder, data: bytes, *, capture_us: int = 0) -> Any:
            if not refused:
                refused.append(data)
                raise RemoteError("refused by the test")
            return decode(self, data, capture_us=capture_us)

        monkeypatch.setattr(Av1Decoder, "decode", refuse_once)
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 10, "pictures go on")
        inbound = await stats(b, "inbound-rtp")
        assert (inbound.undecodableFrames, inbound.keyFramesDecoded) == (1, 2)
        assert 1 <= inbound.pliCount <= 3


@pytest.mark.parametrize("error", [LocalError("refused"), RuntimeError("broken")])
async def test_an_encoder_that_fails_on_a_picture_is_given_the_next(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, failed = Av1Encoder.encode, []

    def fail_once(self: Av1Encoder, request: Any) -> Any:
        if len(failed) < 3:
            failed.append(request)
            raise error
        return encode(self, request)

    monkeypatch.setattr(Av1Encoder, "encode", fail_once)
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        assert (await stats(a, "outbound-rtp")).framesDropped >= 3
