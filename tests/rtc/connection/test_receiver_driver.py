"""The receiver's driver between the core, the decoder and the wire."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from aiortc.rtcrtpreceiver import RemoteStreamTrack

from codecpilot.codecs.types import Codec
from codecpilot.rtc.connection.clock import now_us
from codecpilot.rtc.connection.receiver_driver import ReceiverDriver
from codecpilot.rtc.connection.remb import RembSource
from codecpilot.rtc.messages import NegotiatedCodec
from codecpilot.rtc.playout.av_sync import AvSync
from codecpilot.rtc.receiver import ReceiverCore, ReceiverSettings
from codecpilot.rtc.rtp.extensions import ExtensionMap
from codecpilot.rtc.rtp.packet import RtpPacket

from tests.live_call import eventually
from tests.rtc.fakes import picture
from tests.rtc.playout.test_dependencies import frame


@dataclass
class Rig:
    driver: ReceiverDriver
    sent: list[bytes]

    def feed(self, sequence_number: int) -> None:
        packet = RtpPacket(
            payload_type=103,
            marker=False,
            sequence_number=sequence_number,
            timestamp=0,
            ssrc=7,
            payload=b"\x10\x30",
        )
        self.driver.handle_rtp(packet.serialize(), arrival_us=now_us())


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[Rig]:
    settings = ReceiverSettings(
        ssrc=1,
        codecs=(NegotiatedCodec(codec=Codec.AV1, payload_type=103),),
        extensions=ExtensionMap({}),
    )
    sent: list[bytes] = []

    async def send(data: bytes) -> None:
        sent.append(data)

    driver = ReceiverDriver(
        core=ReceiverCore(settings=settings, rng=random.Random(1), now_us=now_us()),
        track=None,
        send=send,
        emit=lambda name, value: None,
        sender_core=lambda: None,
        av_sync=AvSync(),
    )
    yield Rig(driver=driver, sent=sent)
    await driver.stop()


async def test_an_estimate_is_sent_though_more_packets_came_first(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A burst arrives before the pump runs; only one of its packets calls for an estimate."""
    answers: list[Any] = [b"estimate", None, None]
    remb = RembSource(ssrc=1, extensions=ExtensionMap({}))
    monkeypatch.setattr(remb, "packet", lambda packet, *, media_ssrc, arrival_us: answers.pop(0))
    rig.driver._remb = remb
    for number in range(3):
        rig.feed(number)
    await eventually(lambda: b"estimate" in rig.sent, "the estimate is sent", within_s=2)
    assert rig.sent.count(b"estimate") == 1


async def test_it_knows_when_it_last_heard(rig: Rig) -> None:
    assert rig.driver.heard_us is None
    before_us = now_us()
    rig.feed(0)
    assert before_us <= rig.driver.heard_us <= now_us()


async def test_a_track_that_is_not_read_holds_few_large_pictures(rig: Rig) -> None:
    rig.driver._track = RemoteStreamTrack(kind="video")
    for number in range(6):
        rig.driver._show(frame(number), picture(0, width=4096, height=2304))
    assert rig.driver._track._queue.qsize() == 4
    assert rig.driver.core.counters.framesDropped == 2
