"""Pictures of a live call wait for the sound of their stream, and for no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiortc import RTCPeerConnection

from codecpilot.rtc.connection import CallPeerConnection
from codecpilot.rtc.connection.audio_times import AudioTimes
from codecpilot.rtc.playout.av_sync import MAX_HOLD_US

from tests.live_call import (
    ALONE,
    DrawnTrack,
    Listener,
    ToneTrack,
    Viewer,
    call,
    eventually,
    in_call,
    negotiate,
)

# Where nothing may be waited for: longer than the first report and the slow rise of a hold take.
QUIET_S = 3.0


def held_us(pc: CallPeerConnection) -> int:
    """How long pictures of the connection's video are held back for sound at least."""
    (video,) = (r for r in pc.getReceivers() if r.track is not None and r.track.kind == "video")
    driver = video._driver  # type: ignore[attr-defined]
    return driver._playout.delay._minimum_us if driver is not None else 0


async def test_pictures_wait_for_their_sound_which_the_audio_buffer_delays() -> None:
    async with in_call(call(), call()) as (near, far):
        viewer, listener = Viewer(far), Listener(far)
        send_both(near)
        await negotiate(near, far)
        await eventually(lambda: held_us(far) > 15_000, "pictures are held back", within_s=20)
        await viewer.sees_moving_pictures()
        assert listener.loudest > 100
        assert held_us(far) <= MAX_HOLD_US


def send_both(near: CallPeerConnection) -> None:
    near.addTrack(ToneTrack())
    near.addTrack(DrawnTrack())


def send_apart(near: CallPeerConnection) -> None:
    """Sound and pictures in streams of their own."""
    send_both(near)
    for number, sender in enumerate(near.getSenders()):
        sender._stream_id = f"stream-{number}"


def send_pictures_alone(near: CallPeerConnection) -> None:
    near.addTrack(DrawnTrack())


@pytest.mark.parametrize("send", [send_apart, send_pictures_alone])
async def test_pictures_wait_for_nothing_else(send: Any) -> None:
    await check_that_nothing_is_held(send)


async def test_sound_that_no_report_dates_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AudioTimes, "sender_report", lambda self, report: None)
    await check_that_nothing_is_held(send_both)


async def check_that_nothing_is_held(send: Any) -> None:
    async with in_call(call(), call()) as (near, far):
        viewer, _ = Viewer(far), Listener(far)
        send(near)
        await negotiate(near, far)
        await viewer.sees_moving_pictures()
        await asyncio.sleep(QUIET_S)
        assert viewer.count > 30
        assert held_us(far) == 0


async def test_sound_alone_and_a_plain_peer_work_as_before() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (near, far):
        here, there = Listener(near), Listener(far)
        near.addTrack(ToneTrack())
        far.addTrack(ToneTrack())
        await negotiate(near, far)
        await eventually(lambda: min(here.loudest, there.loudest) > 100, "both hear the other")
