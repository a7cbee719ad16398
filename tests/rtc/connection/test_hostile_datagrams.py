"""Datagrams that no honest peer sends, at the hooks of the transport, behind SRTP."""

from __future__ import annotations

import random
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from codecpilot.rtc.connection.dtls_transport import MAX_LEARNT_SOURCES
from codecpilot.rtc.receiver import ReceiverCore

from tests.live_call import DrawnTrack, Viewer, call, eventually, in_call, negotiate, stats


@dataclass
class Call:
    """A running call from a to b, and what came to b's transport: (is RTCP, datagram)."""

    a: Any
    b: Any
    viewer: Viewer
    heard: list[tuple[bool, bytes]]

    @property
    def receiving(self) -> Any:
        """The transport under b's receiver."""
        return self.b.getReceivers()[0].transport

    @property
    def sending(self) -> Any:
        """The transport under a's sender."""
        return self.a.getSenders()[0].transport

    async def goes_on(self) -> None:
        seen = self.viewer.count
        await eventually(lambda: self.viewer.count > seen + 5, "pictures go on")


@pytest_asyncio.fixture
async def running() -> AsyncIterator[Call]:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 3, "pictures arrive")
        heard: list[tuple[bool, bytes]] = []
        transport = b.getReceivers()[0].transport
        handle_rtp, handle_rtcp = transport._handle_rtp_data, transport._handle_rtcp_data

        async def on_rtp(data: bytes, arrival_time_ms: int) -> None:
            heard.append((False, data))
            await handle_rtp(data, arrival_time_ms=arrival_time_ms)

        async def on_rtcp(data: bytes) -> None:
            heard.append((True, data))
            await handle_rtcp(data)

        transport._handle_rtp_data, transport._handle_rtcp_data = on_rtp, on_rtcp
        yield Call(a=a, b=b, viewer=viewer, heard=heard)


async def _feed_rtp(transport: Any, data: bytes) -> None:
    await transport._handle_rtp_data(data, arrival_time_ms=0)


@pytest.mark.parametrize("length", [0, 1, 11])
async def test_an_rtp_packet_without_a_whole_header_is_dropped(running: Call, length: int) -> None:
    await _feed_rtp(running.receiving, bytes((0x80,)) * length)
    await running.goes_on()


async def test_bad_rtp_of_the_stream_is_counted_and_changes_nothing(running: Call) -> None:
    core = running.b.getReceivers()[0].core
    before = core.counters.malformedRtp
    number = core.codec.payload_type
    ssrc = struct.pack("!I", core.remote_ssrc)
    header = bytes((number, 0, 0, 0, 0, 0, 0)) + ssrc
    bad = [
        bytes((0x00,)) + header + b"version 0",
        bytes((0x8F,)) + header + b"15 sources, not there",
        bytes((0x90,)) + header + b"\xbe\xde\xff\xff",  # an extension longer than the packet
        bytes((0xA0,)) + header + b"\0\0\xff",  # padding longer than the packet
    ]
    for data in bad:
        await _feed_rtp(running.receiving, data)
    assert core.counters.malformedRtp == before + len(bad)
    await running.goes_on()
    inbound = await stats(running.b, "inbound-rtp")
    assert inbound.malformedPackets == before + len(bad)
    assert (inbound.keyFramesDecoded, inbound.undecodableFrames) == (1, 0)


async def test_rtp_of_a_foreign_source_or_type_is_discarded(running: Call) -> None:
    core = running.b.getReceivers()[0].core
    before = core.counters.packetsDiscarded
    data = next(data for is_rtcp, data in reversed(await _media(running)) if not is_rtcp)
    for ssrc in range(1, 20):
        await _feed_rtp(running.receiving, data[:8] + struct.pack("!I", ssrc) + data[12:])
    assert core.counters.packetsDiscarded == before + 19
    before = (core.counters.pliCount, core.counters.malformedRtp, core.counters.keyFramesDecoded)
    for payload_type in (0, 34, 63, 72, 127):
        await _feed_rtp(running.receiving, data[:1] + bytes((payload_type,)) + data[2:])
    after = (core.counters.pliCount, core.counters.malformedRtp, core.counters.keyFramesDecoded)
    assert after == before
    await running.goes_on()
    inbound = await stats(running.b, "inbound-rtp")
    # A stall of the machine may cost packets of the call itself; foreign ones never reach a decoder.
    assert inbound.undecodableFrames == 0


async def test_sources_without_number_are_not_remembered(running: Call) -> None:
    data = next(data for is_rtcp, data in reversed(await _media(running)) if not is_rtcp)
    router = running.receiving._rtp_router
    for ssrc in range(1, 3 * MAX_LEARNT_SOURCES):
        await _feed_rtp(running.receiving, data[:8] + struct.pack("!I", ssrc) + data[12:])
    assert len(router.ssrc_table) <= MAX_LEARNT_SOURCES + 2
    await running.goes_on()


async def test_a_datagram_that_an_endpoint_fails_on_is_dropped_alone(
    running: Call, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise KeyError("a fault of ours")

    data = next(data for is_rtcp, data in reversed(await _media(running)) if not is_rtcp)
    with monkeypatch.context() as patch:
        patch.setattr(ReceiverCore, "handle_rtp", fail)
        patch.setattr(ReceiverCore, "handle_rtcp", fail)
        for _ in range(3):
            await _feed_rtp(running.receiving, data)
            await running.receiving._handle_rtcp_data(b"\x80\xc8\x00\x06" + bytes(24))
    assert sum("was dropped" in record.getMessage() for record in caplog.records) == 1
    await running.goes_on()


async def test_duplicates_are_dropped(running: Call) -> None:
    packets = [data for is_rtcp, data in await _media(running) if not is_rtcp]
    for data in packets[-20:]:
        await _feed_rtp(running.receiving, data)
    await running.goes_on()
    inbound = await stats(running.b, "inbound-rtp")
    assert (inbound.keyFramesDecoded, inbound.undecodableFrames) == (1, 0)
    assert inbound.packetsReceived >= inbound.framesDecoded


@pytest.mark.parametrize("side", ["receiving", "sending"])
async def test_bad_rtcp_is_counted_and_changes_nothing(running: Call, side: str) -> None:
    transport = getattr(running, side)
    endpoint = running.b.getReceivers()[0] if side == "receiving" else running.a.getSenders()[0]
    bad = [
        b"\x80",
        b"\x80\xc8\xff\xff",  # runs past the datagram
        b"\x00\xc8\x00\x00",  # version 0
        b"\x9f\xc9\x00\x01\0\0\0\1",  # 31 reports, none there
        b"\x81\xcd\x00\x02\0\0\0\1\0\0\0\2",  # a NACK of nothing
        b"\x8f\xce\x00\x03\0\0\0\1\0\0\0\0REMX",
    ]
    before = endpoint.core.counters.malformedRtcp
    for data in bad[:4]:
        await transport._handle_rtcp_data(data)
    assert endpoint.core.counters.malformedRtcp == before + 4
    for data in bad:
        await transport._handle_rtcp_data(data)
    await running.goes_on()
    entry = await stats(
        *((running.b, "inbound-rtp") if side == "receiving" else (running.a, "outbound-rtp"))
    )
    assert entry.malformedRtcp >= before + 8
    assert (await stats(running.a, "outbound-rtp")).keyFramesEncoded == 1


async def test_feedback_for_a_foreign_source_is_ignored(running: Call) -> None:
    pli = struct.pack("!BBHII", 0x81, 206, 2, 1, 0xDEADBEEF)
    nack = struct.pack("!BBHIIHH", 0x81, 205, 3, 1, 0xDEADBEEF, 0, 0xFFFF)
    for data in (pli, nack):
        await running.sending._handle_rtcp_data(data)
    await running.goes_on()
    outbound = await stats(running.a, "outbound-rtp")
    assert (outbound.pliCount, outbound.nackCount, outbound.keyFramesEncoded) == (0, 0, 1)


async def test_a_flood_of_picture_losses_makes_few_key_frames(running: Call) -> None:
    ssrc = running.a.getSenders()[0].core.settings.identity.ssrc
    pli = struct.pack("!BBHII", 0x81, 206, 2, 1, ssrc)
    for _ in range(200):
        await running.sending._handle_rtcp_data(pli)
    await running.goes_on()
    outbound = await stats(running.a, "outbound-rtp")
    assert outbound.pliCount == 200
    # The flood may fall behind the first key frame by less than the interval between two.
    assert 1 <= outbound.keyFramesEncoded <= 3


async def test_damaged_copies_of_real_datagrams_do_not_end_the_call(running: Call) -> None:
    rng = random.Random(11)
    real = await _media(running)
    for _ in range(400):
        is_rtcp, data = rng.choice(real)
        damaged = bytearray(data[: rng.randint(1, len(data))])
        # The header's numbers stay: an own peer that jumps in them harms its stream alone.
        first = 4 if is_rtcp else 12
        for _ in range(rng.randint(0, 8)):
            if len(damaged) > first:
                damaged[rng.randrange(first, len(damaged))] = rng.randrange(256)
        if is_rtcp:
            await running.receiving._handle_rtcp_data(bytes(damaged))
        else:
            await _feed_rtp(running.receiving, bytes(damaged))
    # A receiver report that announces a block and ends before it.
    await running.receiving._handle_rtcp_data(b"\x81\xc9\x00\x07" + bytes(4))
    await running.goes_on()
    assert (await stats(running.b, "inbound-rtp")).malformedRtcp > 0


async def test_random_bytes_do_not_end_the_call(running: Call) -> None:
    rng = random.Random(12)
    for transport in (running.receiving, running.sending):
        for _ in range(500):
            data = rng.randbytes(rng.randint(0, 60))
            await _feed_rtp(transport, data)
            await transport._handle_rtcp_data(data)
            await transport._handle_rtcp_data(
                bytes((0x80 | rng.randrange(32), rng.randrange(200, 208), 0, rng.randrange(8)))
                + data
            )
    await running.goes_on()
    assert (await stats(running.b, "inbound-rtp")).malformedRtcp > 100


async def _media(running: Call) -> list[tuple[bool, bytes]]:
    """Real datagrams of both kinds."""
    return await eventually(
        lambda: running.heard if {True, False} <= {k for k, _ in running.heard} else None,
        "media and reports are heard",
    )
