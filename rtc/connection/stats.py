"""Core counters as aiortc's statistics entries, under W3C webrtc-stats' names and units."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpreceiver import RTCRtpReceiver
from aiortc.rtcrtpsender import RTCRtpSender
from aiortc.stats import (
    RTCRemoteInboundRtpStreamStats,
    RTCStats,
    RTCStatsReport,
    RTCTransportStats,
)

from ..adaptation.decisions import AdaptationDecision
from ..messages import VIDEO_CLOCK_HZ, NegotiatedCodec
from ..receiver import ReceiverCore
from ..send_path import SendPath
from ..sender import SenderCore
from ..stats import InboundCounters, OutboundCounters
from .stats_entries import (
    CallInboundRtpStreamStats,
    CallOutboundRtpStreamStats,
    RTCCodecStats,
    RTCIceCandidatePairStats,
)

_US_PER_S = 1_000_000


def stats_report(entries: Iterable[RTCStats], transport: RTCDtlsTransport) -> RTCStatsReport:
    """A stream's entries, and those of its transport."""
    report = RTCStatsReport()
    for entry in entries:
        report.add(entry)
    report.update(transport._get_stats())
    return report


def outbound_stats(
    sender: RTCRtpSender,
    *,
    core: SenderCore,
    implementation: str,
    adaptation: AdaptationDecision | None,
    adaptations: int,
    now_us: int,
) -> list[RTCStats]:
    """The entries of a sender: outbound-rtp, its codec, and what the peer reported.

    adaptation is the decision that holds, adaptations how many there were.
    """
    c, identity = core.counters, core.settings.identity
    transport_id = sender.transport._stats_id
    codec = _codec_stats(core.codec, transport_id)
    outbound = CallOutboundRtpStreamStats(
        timestamp=codec.timestamp,
        type="outbound-rtp",
        id=f"outbound-rtp_{id(sender)}",
        ssrc=identity.ssrc,
        kind=sender.kind,
        transportId=transport_id,
        trackId=str(id(sender.track)),
        mid=identity.mid or "",
        codecId=codec.id,
        codec=core.codec.codec,
        encoderImplementation=implementation,
        targetBitrate=core.target_bps,
        adaptations=adaptations,
        **_adapted(core, adaptation, now_us=now_us),
        totalEncodeTime=c.totalEncodeTimeUs / _US_PER_S,
        totalEncodeCpuTime=c.totalEncodeCpuTimeUs / _US_PER_S,
        totalPacketSendDelay=c.totalPacketSendDelayUs / _US_PER_S,
        **_same(c, CallOutboundRtpStreamStats),
    )
    entries: list[RTCStats] = [codec, outbound]
    if c.roundTripTimeUs is not None:
        entries.append(_remote_inbound(sender, core, timestamp=codec.timestamp))
    return entries


def inbound_stats(
    receiver: RTCRtpReceiver, *, core: ReceiverCore, implementation: str
) -> list[RTCStats]:
    """The entries of a receiver: inbound-rtp and its codec, once a packet has come."""
    c, flexfec = core.counters, core.settings.flexfec
    if core.remote_ssrc is None or not c.packetsReceived:
        return []
    transport_id = receiver.transport._stats_id
    codec = _codec_stats(core.codec, transport_id)
    inbound = CallInboundRtpStreamStats(
        timestamp=codec.timestamp,
        type="inbound-rtp",
        id=f"inbound-rtp_{id(receiver)}",
        ssrc=core.remote_ssrc,
        kind="video",
        transportId=transport_id,
        codecId=codec.id,
        codec=core.codec.codec,
        decoderImplementation=implementation,
        fecSsrc=flexfec.ssrc if flexfec is not None else None,
        totalFreezesDuration=c.totalFreezesDurationUs / _US_PER_S,
        totalDecodeTime=c.totalDecodeTimeUs / _US_PER_S,
        totalAssemblyTime=c.totalAssemblyTimeUs / _US_PER_S,
        totalInterFrameDelay=c.totalInterFrameDelayUs / _US_PER_S,
        malformedPackets=c.malformedRtp,
        **_same(c, CallInboundRtpStreamStats),
    )
    return [codec, inbound]


def pair_stats(
    transport: RTCTransportStats, path: SendPath, *, now_us: int
) -> RTCIceCandidatePairStats:
    """The entry of the candidate pair that a transport's entry is about."""
    heard = path.feedback_counters
    return RTCIceCandidatePairStats(
        timestamp=transport.timestamp,
        type="candidate-pair",
        id=f"candidate-pair_{transport.id}",
        transportId=transport.id,
        state="succeeded",
        nominated=True,
        packetsSent=transport.packetsSent,
        packetsReceived=transport.packetsReceived,
        bytesSent=transport.bytesSent,
        bytesReceived=transport.bytesReceived,
        availableOutgoingBitrate=path.available_outgoing_bps,
        pacerDelay=path.wait_us(now_us=now_us) / _US_PER_S,
        bytesInFlight=path.in_flight_bytes,
        paddingBytesSent=path.counters.paddingBytesSent,
        transportFeedbackReceived=heard.received,
        transportFeedbackIgnored=heard.refused_floods + heard.refused_times + heard.without_news,
    )


def _adapted(
    core: SenderCore, decision: AdaptationDecision | None, *, now_us: int
) -> dict[str, Any]:
    """The members of outbound-rtp that tell what adaptation has in use, and what it costs."""
    durations_us = core.quality_limitation_durations_us(now_us=now_us)
    return {
        "preset": core.operation.preset,
        "scalabilityMode": f"L1T{decision.layers if decision else 1}",
        "adaptationReason": decision.reason if decision else "",
        "qualityLimitationDurations": {
            reason: duration_us / _US_PER_S for reason, duration_us in durations_us.items()
        },
    }


def _same(counters: OutboundCounters | InboundCounters, entry: type[RTCStats]) -> dict[str, Any]:
    """The counters that an entry has under the same name, and so in the same unit."""
    names = {field.name for field in fields(entry)}
    return {name: getattr(counters, name) for name in counters.__slots__ if name in names}


def _codec_stats(codec: NegotiatedCodec, transport_id: str) -> RTCCodecStats:
    return RTCCodecStats(
        timestamp=datetime.datetime.now(datetime.UTC),
        type="codec",
        id=f"codec_{transport_id}_{codec.payload_type}",
        payloadType=codec.payload_type,
        mimeType=f"video/{codec.codec}",
        clockRate=VIDEO_CLOCK_HZ,
        transportId=transport_id,
    )


def _remote_inbound(
    sender: RTCRtpSender, core: SenderCore, *, timestamp: datetime.datetime
) -> RTCRemoteInboundRtpStreamStats:
    c = core.counters
    return RTCRemoteInboundRtpStreamStats(
        timestamp=timestamp,
        type="remote-inbound-rtp",
        id=f"remote-inbound-rtp_{id(sender)}",
        ssrc=core.settings.identity.ssrc,
        kind=sender.kind,
        transportId=sender.transport._stats_id,
        packetsReceived=c.packetsSent - c.remotePacketsLost,
        packetsLost=c.remotePacketsLost,
        jitter=c.remoteJitter,
        roundTripTime=(c.roundTripTimeUs or 0) / _US_PER_S,
        fractionLost=c.remoteFractionLost / 256,
    )
