"""Live calls that adapt, and what an application takes over: independent of the machine's other load."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from codecpilot.codecs import factory
from codecpilot.codecs.errors import LocalError
from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationDecision, AdaptationReason
from codecpilot.rtc.connection import SenderLimits, devices, receiver_driver

from tests.live_call import DrawnTrack, Viewer, call, eventually, in_call, negotiate, stats
from tests.slow_page import slow_page

SMALL = {"width": 160, "height": 96}


def _decisions(pc: Any) -> list[AdaptationDecision]:
    said: list[AdaptationDecision] = []
    pc.on("adaptation", said.append)
    return said


async def test_the_first_event_says_how_a_stream_begins() -> None:
    async with in_call(call(preset="low"), call()) as (a, b):
        said, viewer = _decisions(a), Viewer(b)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        first = said[0]
        assert (first.operation.codec, first.operation.preset) == (Codec.AV1, "low")
        assert (first.size, first.layers) == ((320, 180), 1)
        assert first.reason is AdaptationReason.APPLICATION
        outbound = await stats(a, "outbound-rtp")
        assert (outbound.preset, outbound.scalabilityMode) == ("low", "L1T1")
        assert (outbound.adaptationReason, outbound.adaptations) == ("application", 1)


async def test_what_is_set_before_the_start_holds_from_the_first_picture_on() -> None:
    async with in_call(call(limits=SenderLimits(max_width=160)), call()) as (a, b):
        said, viewer = _decisions(a), Viewer(b)
        sender = a.addTrack(DrawnTrack(width=320, height=180))
        sender.set_codec("H264")
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        assert said[0].operation.codec is Codec.H264
        assert viewer.sizes == [(160, 90)]
        outbound, inbound = await stats(a, "outbound-rtp"), await stats(b, "inbound-rtp")
        assert outbound.codecSwitches == 0
        # Two profiles of H.264 were agreed on: what is told is what is sent.
        sent, received = (
            (await a.getStats())[outbound.codecId],
            (await b.getStats())[inbound.codecId],
        )
        assert sent.payloadType == received.payloadType


async def test_every_decision_can_be_taken_over_during_the_call() -> None:
    async with in_call(call(), call()) as (a, b):
        said, viewer = _decisions(a), Viewer(b)
        sender = a.addTrack(DrawnTrack(width=320, height=180))
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")

        async def says(what: str, matches: Callable[[AdaptationDecision], bool]) -> None:
            await eventually(lambda: matches(said[-1]), what)
            assert said[-1].reason is AdaptationReason.APPLICATION

        sender.set_preset("ultralow")
        await says("another preset", lambda d: d.operation.preset == "ultralow")
        sender.set_preset("default")
        sender.set_scale(Fraction(1, 2))
        await says("half size", lambda d: d.size == (160, 90))
        sender.set_scale(None)
        sender.set_codec("H264")
        await says("H.264", lambda d: d.operation.codec is Codec.H264)
        a.set_limits(SenderLimits(max_height=90))
        await says("no higher", lambda d: d.size == (160, 90))
        await eventually(lambda: viewer.size == (160, 90), "smaller pictures are seen")
        a.set_limits(SenderLimits())
        a.set_codec("AV1")
        await eventually(lambda: viewer.size == (320, 180), "whole pictures are seen")
        assert (await stats(a, "outbound-rtp")).codecSwitches == 2


async def test_a_limit_of_pictures_a_second_is_kept() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack(fps=30))
        a.set_limits(SenderLimits(max_fps=10))
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 12, "pictures arrive")
        outbound = await stats(a, "outbound-rtp")
        assert outbound.framesEncoded <= outbound.framesCaptured / 2
        assert outbound.framesLeftOut >= 10


async def test_a_limited_rate_is_kept() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        a.set_limits(SenderLimits(max_bps=50_000))
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        assert 10_000 <= (await stats(a, "outbound-rtp")).targetBitrate <= 50_000


async def test_each_direction_sends_what_it_may() -> None:
    async with in_call(call(send_codecs=("H264",)), call(send_codecs=("AV1",))) as (a, b):
        viewers = Viewer(a), Viewer(b)
        for pc in (a, b):
            pc.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: all(v.count > 5 for v in viewers), "pictures both ways")
        sent = [(await stats(pc, "outbound-rtp")).codec for pc in (a, b)]
        received = [(await stats(pc, "inbound-rtp")).codec for pc in (a, b)]
        assert (sent, received) == (["H264", "AV1"], ["AV1", "H264"])


async def test_where_nothing_that_may_be_sent_was_agreed_on_the_rest_is() -> None:
    async with in_call(call(send_codecs=("AV1",)), call(codecs=("H264",))) as (a, b):
        viewer = Viewer(b)
        sender = a.addTrack(DrawnTrack())
        sender.set_codec("AV1")
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        assert (await stats(b, "inbound-rtp")).codec == "H264"
        with pytest.raises(LocalError, match="AV1 was not negotiated"):
            sender.set_codec("AV1")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("set_codec", "VP8", "'VP8'"),
        ("set_preset", "warp", "'warp'"),
        ("set_scale", Fraction(3, 2), "3/2"),
        ("set_scale", Fraction(0), "0"),
    ],
)
async def test_what_cannot_be_is_refused_at_once(name: str, value: Any, words: str) -> None:
    async with in_call(call()) as (pc,):
        pc.addTransceiver("video")
        with pytest.raises(LocalError, match=words):
            getattr(pc, name)(value)


async def test_both_scores_reach_the_senders() -> None:
    async with in_call(call(rtc_score=0.25), call(rtc_score=0.75)) as (a, b):
        for pc in (a, b):
            pc.addTrack(DrawnTrack(**SMALL))
        await negotiate(a, b)
        cores = [
            await eventually(lambda pc=pc: pc.getSenders()[0].core, "it starts") for pc in (a, b)
        ]
        scores = [
            (c.settings.adaptation.own_score, c.settings.adaptation.peer_score) for c in cores
        ]
        assert scores == [(0.25, 0.75), (0.75, 0.25)]


async def test_an_empty_battery_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "HEALTH_PERIOD_S", 0.1)
    battery = SimpleNamespace(percent=15, power_plugged=False)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    async with in_call(call(adaptation=True), call()) as (a, b):
        said, viewer = _decisions(a), Viewer(b)
        a.addTrack(DrawnTrack(**SMALL))
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        spared = await eventually(
            lambda: [d for d in said if d.reason is AdaptationReason.BATTERY], "it is spared"
        )
        assert spared[0].operation.codec is Codec.H264
        await eventually(lambda: a.getSenders()[0].core.codec.codec is Codec.H264, "H.264 is sent")


async def test_what_is_switched_off_adapts_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "HEALTH_PERIOD_S", 0.05)
    battery = SimpleNamespace(percent=5, power_plugged=False)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    async with in_call(call(), call()) as (a, b):
        said, viewer = _decisions(a), Viewer(b)
        a.addTrack(DrawnTrack(**SMALL))
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 30, "pictures arrive")
        assert {d.operation.codec for d in said} == {Codec.AV1}


async def test_a_peer_that_decodes_av1_too_slowly_is_sent_h264(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiver_driver, "open_decoder", _slow_at_av1)
    async with in_call(call(adaptation=True), call()) as (a, b):
        said, viewer = _decisions(a), Viewer(b)
        a.addTrack(DrawnTrack(**SMALL))
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 1, "pictures arrive")
        spared = await eventually(
            lambda: [d for d in said if d.reason is AdaptationReason.PEER_DECODE], "it is spared"
        )
        assert spared[0].operation.codec is Codec.H264
        count = viewer.count
        await eventually(lambda: viewer.count > count + 15, "pictures go on")
        assert (await stats(b, "inbound-rtp")).codec == "H264"


def _slow_at_av1(codec: Codec) -> Any:
    """A decoder that takes 83 ms for each frame of AV1: 12 a second."""
    decoder = factory.open_decoder(codec)
    if codec is not Codec.AV1:
        return decoder
    decode = decoder.decode

    class Slow:
        implementation = decoder.implementation
        close = decoder.close

        def decode(self, data: bytes) -> Any:
            time.sleep(0.083)
            return decode(data)

    return Slow()


async def test_a_pages_report_reaches_the_stream_it_is_about() -> None:
    async with in_call(call(adaptation=True), call()) as (a, b):
        said, viewer = _decisions(a), Viewer(b)
        a.addTrack(DrawnTrack(**SMALL))
        channel = a.createDataChannel("codecpilot-decode")
        theirs: list[Any] = []
        b.on("datachannel", theirs.append)
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5 and theirs, "pictures and a channel")
        assert channel.label == "codecpilot-decode"

        def is_believed() -> bool:
            theirs[0].send(slow_page())
            return any(d.reason is AdaptationReason.PEER_DECODE for d in said)

        await eventually(is_believed, "it is believed")
