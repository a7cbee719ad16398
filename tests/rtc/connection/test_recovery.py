"""Losses in live calls: references acknowledged and gone on from, FEC for the right stream, repairs without RTX."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

from aiortc import RTCPeerConnection

from codecpilot.codecs.errors import RemoteError
from codecpilot.rtc.resilience.decisions import Reason
from codecpilot.rtc.resilience.settings import ResilienceSettings, Switch
from codecpilot.rtc.rtp.packet import parse_rtp

from tests.live_call import (
    ALONE,
    DrawnTrack,
    Viewer,
    call,
    eventually,
    in_call,
    negotiate,
    stats,
)
from tests.losing import Loss

FEC_ALONE = ResilienceSettings(
    fec=Switch.ON, ltr=Switch.OFF, temporal_layers=Switch.OFF, nack=Switch.OFF
)


async def test_own_media_carries_the_acknowledgements() -> None:
    async with in_call(call(), call()) as (a, b):
        viewers, loss = (Viewer(a), Viewer(b)), Loss()
        sender = a.addTrack(DrawnTrack())
        b.addTrack(DrawnTrack())
        acknowledged: list[int | None] = []
        loss.is_lost = lambda data: acknowledged.append(_acknowledged(sender, data)) or False
        await negotiate(a, b)
        loss.on_the_way_out(sender.transport)
        await eventually(lambda: all(v.count > 40 for v in viewers), "pictures both ways")
        told = [frame_id for frame_id in acknowledged if frame_id is not None]
        # The key frame is the first reference; each is named again and again until the next.
        assert told[0] == 0
        assert len(told) > 5 * len(set(told))
        assert all(frame_id < 120 for frame_id in told)


async def test_frames_that_never_arrive_are_gone_on_without() -> None:
    """One way: acknowledgements and requests go by RTCP."""
    async with in_call(call(), call()) as (a, b):
        viewer, loss, decisions = Viewer(b), Loss(), []
        sender = a.addTransceiver(DrawnTrack(), direction="sendonly").sender
        a.on("resiliencedecision", decisions.append)
        await negotiate(a, b)
        loss.on_the_way_out(sender.transport)
        await eventually(lambda: viewer.count > 40, "pictures arrive")
        timestamps: set[bytes] = set()

        def is_lost(data: bytes) -> bool:
            if len(timestamps) < 4:
                timestamps.add(data[4:8])
            return data[4:8] in timestamps

        loss.is_lost = is_lost
        await eventually(lambda: len(timestamps) == 4, "frames are lost")
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 20, "pictures go on")
        outbound, inbound = await stats(a, "outbound-rtp"), await stats(b, "inbound-rtp")
        assert (outbound.keyFramesEncoded, inbound.keyFramesDecoded) == (1, 1)
        assert 1 <= inbound.recoveryFramesDecoded <= outbound.recoveryFramesSent
        assert inbound.ltrFramesDecoded > 0
        assert inbound.ltrAckCount > 0
        assert inbound.pliCount == 0
        reasons = [d.reason for d in decisions if d.action == "ltrp"]
        assert len(reasons) == outbound.recoveryFramesSent
        # Before a round trip is known it may be one that is worth going on before losses are.
        assert 1 <= sum(reason is not Reason.PROACTIVE for reason in reasons) <= 4
        assert decisions[0].action == "key"


async def test_fec_finds_its_stream_among_two() -> None:
    """The streams share payload types; only the key frames of so small pictures have FEC."""
    quick = call(resilience=FEC_ALONE, start_bps=1_000_000)
    async with in_call(quick, call(resilience=FEC_ALONE)) as (a, b):
        viewers: list[Viewer] = []
        b.on("track", lambda track: viewers.append(Viewer(b, track)))
        sizes = [(320, 180), (384, 216)]
        senders = [a.addTrack(DrawnTrack(width=w, height=h)) for w, h in sizes]
        loss = Loss()
        await negotiate(a, b)
        loss.on_the_way_out(senders[0].transport)
        await eventually(
            lambda: len(viewers) == 2 and all(v.count > 5 for v in viewers), "both play"
        )
        received = [r.core.counters for r in b.getReceivers()]
        fec_type = senders[0].core.settings.flexfec.payload_type
        lost: set[bytes] = set()

        def is_lost(data: bytes) -> bool:
            """The first packet of each large frame, until FEC has given one back."""
            is_media = data[1] & 0x7F != fec_type
            is_first = is_media and len(data) > 1100 and data[4:12] not in lost
            if is_first:
                lost.add(data[4:12])
            return is_first

        loss.is_lost = is_lost
        asked_s = [0.0]

        def is_recovered() -> bool:
            """A key frame at a low estimate is too small for FEC: another is asked for twice a second."""
            if time.monotonic() - asked_s[0] > 0.5:
                asked_s[0] = time.monotonic()
                for sender in senders:
                    sender._send_keyframe()
            return all(c.fecPacketsRecovered for c in received)

        await eventually(is_recovered, "FEC recovers")
        loss.is_lost = lambda data: False
        ssrcs = [r.core.settings.flexfec.ssrc for r in b.getReceivers()]
        assert ssrcs == [s.flexfec_ssrc for s in senders]
        assert all(c.fecPacketsReceived >= c.fecPacketsRecovered for c in received)
        assert all(c.retransmittedPacketsReceived == 0 for c in received)
        assert [v.sizes for v in viewers] == [[size] for size in sizes]


async def test_aiortc_gets_lost_packets_again_where_it_cannot_tell_rtx() -> None:
    async with in_call(call(), RTCPeerConnection(ALONE)) as (ours, stock):
        viewer, loss, rng = Viewer(stock), Loss(), random.Random(4)
        sender = ours.addTrack(DrawnTrack())
        await negotiate(ours, stock)
        loss.on_the_way_out(sender.transport)
        await eventually(lambda: viewer.count > 10, "pictures arrive")
        sent: set[bytes] = set()

        def is_lost(data: bytes) -> bool:
            """One packet in ten, the first time."""
            is_new = data[2:4] not in sent
            sent.add(data[2:4])
            return is_new and rng.random() < 0.1

        loss.is_lost = is_lost
        await asyncio.sleep(2)
        loss.is_lost = lambda data: False
        seen = viewer.count
        await eventually(lambda: viewer.count > seen + 20, "pictures go on")
        outbound = await stats(ours, "outbound-rtp")
        assert loss.lost > 2
        assert outbound.retransmittedPacketsSent >= loss.lost - 2
        assert sender.core.codec.rtx_payload_type is None
        assert 1 <= outbound.keyFramesEncoded <= 2


def _acknowledged(sender: Any, data: bytes) -> int | None:
    """The reference that a media packet acknowledges."""
    try:
        return sender.core.settings.extensions.unpack(parse_rtp(data)).ltr_ack
    except RemoteError:
        return None
