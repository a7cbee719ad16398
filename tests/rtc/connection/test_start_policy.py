"""Calls that begin as a policy plans by what both descriptions tell."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiortc import RTCPeerConnection, RTCSessionDescription

from codecpilot.codecs.errors import LocalError, RemoteError
from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.decisions import AdaptationDecision, AdaptationReason
from codecpilot.rtc.adaptation.settings import StartPoint
from codecpilot.rtc.connection import CallSettings

from tests.live_call import ALONE, DrawnTrack, Viewer, call, eventually, in_call, negotiate


@dataclass(kw_only=True)
class Start:
    codec: str = "AV1"
    preset: str = "low"
    max_width: int = 160
    max_height: int = 90
    max_fps: float = 30
    is_receivers: bool = False


@dataclass(kw_only=True)
class Policy:
    """Begins as told, and remembers what it was asked."""

    begin: Start = field(default_factory=Start)
    rtc_score: float = 0.75
    device_text: str = "high 1.0"
    asked: list[tuple[float | None, str | None]] = field(default_factory=list)

    def start(self, *, peer_score: float | None, peer_text: str | None) -> Start:
        self.asked.append((peer_score, peer_text))
        if peer_text == "nonsense":
            raise RemoteError("that says nothing")
        return self.begin


def _point(pc: Any) -> StartPoint:
    point = pc.getSenders()[0].core.settings.adaptation.start
    assert isinstance(point, StartPoint)
    return point


async def test_each_direction_begins_as_its_sender_plans_by_what_both_told() -> None:
    policies = (
        Policy(device_text="high 0.5 921600/30:0.1:0.1"),
        Policy(begin=Start(codec="H264", preset="default", is_receivers=True), rtc_score=0.25),
    )
    async with in_call(*(call(start_policy=p, adaptation=True) for p in policies)) as (a, b):
        said: list[AdaptationDecision] = []
        a.on("adaptation", said.append)
        viewers = Viewer(a), Viewer(b)
        for pc in (a, b):
            pc.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: all(v.count > 3 for v in viewers), "pictures both ways")
        assert policies[0].asked == [(0.25, "high 1.0")]
        assert policies[1].asked == [(0.75, "high 0.5 921600/30:0.1:0.1")]
        assert (_point(a).codec, _point(b).codec) == (Codec.AV1, Codec.H264)
        assert (_point(a).is_peers, _point(b).is_peers) == (False, True)
        first = said[0]
        assert (first.operation.codec, first.operation.preset) == (Codec.AV1, "low")
        assert (first.size, first.reason) == ((160, 90), AdaptationReason.PRIOR)


@pytest.mark.parametrize("line", ["nonsense", "x" * 500, None])
async def test_a_peer_that_tells_nonsense_or_nothing_is_planned_for_without_it(
    line: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    policy = Policy()
    async with in_call(call(start_policy=policy), call(rtc_score=0.5)) as (a, b):
        b.addTransceiver("video")
        offer = await b.createOffer()
        if line is not None:
            told = offer.sdp.replace("m=", f"a=codecpilot-device:{line}\r\nm=", 1)
            offer = RTCSessionDescription(sdp=told, type="offer")
        with caplog.at_level(logging.WARNING, logger="codecpilot.rtc"):
            await a.setRemoteDescription(offer)
        assert policy.asked[-1] == (0.5, None)
        assert ("that says nothing" in caplog.text) is (line == "nonsense")
        assert a._devices.start is not None


async def test_a_plain_peer_is_told_nothing_and_planned_for_all_the_same() -> None:
    policy = Policy()
    async with in_call(call(start_policy=policy), RTCPeerConnection(ALONE)) as (ours, plain):
        plain.addTransceiver("video")
        await negotiate(plain, ours)
        assert "codecpilot" not in ours.localDescription.sdp
        assert policy.asked == [(None, None)]


@pytest.mark.parametrize(
    ("begin", "words"), [(Start(codec="VP8"), "'VP8'"), (Start(preset="warp"), "'warp'")]
)
async def test_a_policy_that_plans_what_cannot_be_is_our_own_error(
    begin: Start, words: str
) -> None:
    async with in_call(call(start_policy=Policy(begin=begin)), call()) as (a, b):
        b.addTransceiver("video")
        with pytest.raises(LocalError, match=words):
            await a.setRemoteDescription(await b.createOffer())


def test_settings_refuse_two_scores_and_a_text_that_is_no_line() -> None:
    with pytest.raises(LocalError, match="rtc_score"):
        CallSettings(start_policy=Policy(), rtc_score=0.5)
    with pytest.raises(LocalError, match="400"):
        CallSettings(start_policy=Policy(device_text="two\r\nlines"))
    assert CallSettings(start_policy=Policy()).told_score == 0.75
