"""The paths that the streams of a connection share: what steers their rate, and what statistics say of it."""

from __future__ import annotations

from typing import Any

import pytest
from aiortc import RTCPeerConnection

from codecpilot.rtc.rtp.packet import is_rtcp
from codecpilot.rtc.rtp.rtcp import (
    ReceiverEstimatedMaximumBitrate,
    TransportFeedback,
    parse_rtcp,
    serialize_rtcp,
)

from tests.live_call import (
    ALONE,
    DrawnTrack,
    ToneTrack,
    Viewer,
    call,
    eventually,
    in_call,
    negotiate,
    stats,
)


def _sent_rtcp(transport: Any) -> list[Any]:
    """The RTCP messages that a transport sends from now on."""
    sent: list[Any] = []
    send = transport._send_rtp

    async def noted(data: bytes) -> None:
        if is_rtcp(data):
            sent.extend(parse_rtcp(data))
        await send(data)

    transport._send_rtp = noted
    return sent


def _of(kind: type[Any], messages: list[Any]) -> list[Any]:
    return [m for m in messages if isinstance(m, kind)]


async def _heard(pc: Any) -> int:
    pair = await stats(pc, "candidate-pair")
    return pair.transportFeedbackReceived if pair else 0


async def _carries_more(pc: Any) -> bool:
    return (await stats(pc, "candidate-pair")).availableOutgoingBitrate > 300_000


async def test_feedback_steers_both_directions_in_place_of_remb() -> None:
    async with in_call(call(), call()) as (a, b):
        viewers = Viewer(a), Viewer(b)
        for pc in (a, b):
            pc.addTrack(ToneTrack())
            pc.addTrack(DrawnTrack())
        await negotiate(a, b)
        sent = _sent_rtcp(b.getReceivers()[-1].transport)
        await eventually(lambda: all(v.count > 20 for v in viewers), "pictures both ways")
        for pc in (a, b):
            assert await _heard(pc) > 3
            pair = await stats(pc, "candidate-pair")
            assert pair.transportFeedbackIgnored == 0
            assert 0 <= pair.availableOutgoingBitrate < 50_000_000
            assert 0 <= pair.bytesInFlight < 100_000
            assert 0 <= pair.pacerDelay <= 0.2
            await eventually(lambda pc=pc: _carries_more(pc), "the path is found to carry it")
        told = _of(TransportFeedback, sent)
        assert len(told) > 3
        assert _of(ReceiverEstimatedMaximumBitrate, sent) == []
        # Sound goes past the pacer and is not numbered.
        identity = a.getSenders()[-1].core.settings.identity
        assert {m.media_ssrc for m in told} <= {identity.ssrc, identity.rtx_ssrc}


async def test_two_streams_share_one_path_and_its_rate() -> None:
    async with in_call(call(start_bps=200_000), call()) as (a, b):
        viewers: list[Viewer] = []
        b.on("track", lambda track: viewers.append(Viewer(b, track)))
        for size in (320, 160):
            a.addTrack(DrawnTrack(width=size, height=size // 2))
        await negotiate(a, b)
        first, second = a.getSenders()
        await eventually(lambda: first.core and second.core, "both streams begin")
        assert first.core.path is second.core.path
        shares = [s.core.path.share_bps(s.core.settings.identity.ssrc) for s in (first, second)]
        assert abs(shares[0] - shares[1]) <= 1
        await eventually(lambda: len(viewers) == 2 and all(v.count > 10 for v in viewers), "both")
        assert (await stats(a, "candidate-pair")).transportFeedbackIgnored == 0
        rest = first.core.settings.identity.ssrc
        await second.stop()
        assert first.core.path.share_bps(rest) > 0
        assert first.core.path.share_bps(second.core.settings.identity.ssrc) is None


async def test_feedback_with_padding_is_taken_once_though_several_streams_send() -> None:
    async with in_call(call(), call()) as (a, b):
        viewer = Viewer(b)
        for _ in range(2):
            a.addTrack(DrawnTrack())
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 5, "pictures arrive")
        transport = a.getSenders()[0].transport
        before = await _heard(a)
        message = TransportFeedback(
            sender_ssrc=1,
            media_ssrc=a.getSenders()[0].core.settings.identity.ssrc,
            feedback_count=0,
            base_sequence=0,
            reference_time=0,
            statuses=(0,),
        )
        data = serialize_rtcp([message])
        assert data[0] & 0x20, "the packet is padded, which aiortc's own parser refuses"
        await transport._handle_rtcp_data(data)
        heard = await _heard(a)
        assert 1 <= heard - before <= 3
        assert (await stats(a, "candidate-pair")).transportFeedbackIgnored >= 1


@pytest.mark.parametrize("control", ["remb", "none"])
async def test_without_an_estimator_packets_are_paced_alone(control: str) -> None:
    async with in_call(call(congestion_control=control), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack())
        await negotiate(a, b)
        sent = _sent_rtcp(b.getReceivers()[0].transport)
        await eventually(lambda: viewer.count > 10, "pictures arrive")
        pair = await stats(a, "candidate-pair")
        assert pair.availableOutgoingBitrate is None
        assert pair.transportFeedbackReceived == 0
        assert _of(TransportFeedback, sent) == []
        if control == "remb":
            await eventually(lambda: _of(ReceiverEstimatedMaximumBitrate, sent), "REMB is sent")
        else:
            assert _of(ReceiverEstimatedMaximumBitrate, sent) == []


async def test_an_estimate_lowers_a_stock_peers_sender_only_where_it_was_agreed() -> None:
    for control, lowered in (("codecpilot", True), ("none", False)):
        async with in_call(call(congestion_control=control), RTCPeerConnection(ALONE)) as (a, b):
            a.addTrack(DrawnTrack())
            await negotiate(a, b)
            sender = a.getSenders()[0]
            await eventually(lambda s=sender: s.core, "the stream begins")
            ssrc = sender.core.settings.identity.ssrc
            remb = ReceiverEstimatedMaximumBitrate(sender_ssrc=1, bitrate_bps=50_000, ssrcs=(ssrc,))
            await sender.transport._handle_rtcp_data(serialize_rtcp([remb]))
            assert (sender.core.target_bps <= 50_000) == lowered
            assert (await stats(a, "candidate-pair")).availableOutgoingBitrate is None


async def test_statistics_tell_how_long_packets_waited_and_what_limits_the_quality() -> None:
    async with in_call(call(start_bps=60_000), call()) as (a, b):
        viewer = Viewer(b)
        a.addTrack(DrawnTrack(width=640, height=360))
        await negotiate(a, b)
        await eventually(lambda: viewer.count > 10, "pictures arrive")
        outbound = await stats(a, "outbound-rtp")
        assert outbound.totalPacketSendDelay > 0
        assert outbound.totalPacketSendDelay / outbound.packetsSent < 0.3
        assert outbound.headerBytesSent > 12 * outbound.packetsSent
        assert 10_000 <= outbound.targetBitrate <= 400_000
        assert outbound.qualityLimitationReason == "bandwidth"
        durations = outbound.qualityLimitationDurations
        assert set(durations) == {"none", "cpu", "bandwidth", "other"}
        assert 0.1 < durations["bandwidth"] <= sum(durations.values()) < 20
        pair = await stats(a, "candidate-pair")
        transport = await stats(a, "transport")
        assert pair.transportId == transport.id
        assert pair.bytesSent >= outbound.bytesSent
