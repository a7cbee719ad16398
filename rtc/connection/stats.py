"""Core counters as aiortc's statistics entries, under W3C webrtc-stats' names and units."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpreceiver import RTCRtpReceiver
from aiortc.rtcrtpsender import RTCRtpSender
from aiortc.stats import (
    RTCRemoteInboundRtpStreamStats,
    RTCStats,
    RTCStatsReport,
    RTCTransportStats,
)

from ..messages import VIDEO_CLOCK_HZ, NegotiatedCodec
from ..receiver import ReceiverCore
from ..send_path import SendPath
from ..sender import SenderCore
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
    sender: RTCRtpSender, core: SenderCore, implementation: str, *, now_us: int
) -> list[RTCStats]:
    """The entries of a sender: outbound-rtp, its codec, and what the peer reported."""
    durations_us = core.quality_limitation_durations_us(now_us=now_us)
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
        packetsSent=c.packetsSent,
        bytesSent=c.bytesSent,
        trackId=str(id(sender.track)),
        mid=identity.mid or "",
        codecId=codec.id,
        codec=core.codec.codec,
        encoderImplementation=implementation,
        targetBitrate=core.target_bps,
        qualityLimitationReason=c.qualityLimitationReason,
        qualityLimitationDurations={
            reason: duration_us / _US_PER_S for reason, duration_us in durations_us.items()
        },
        qualityLimitationResolutionChanges=c.qualityLimitationResolutionChanges,
        framesEncoded=c.framesEncoded,
        framesSent=c.framesSent,
        keyFramesEncoded=c.keyFramesEncoded,
        qpSum=c.qpSum,
        totalEncodeTime=c.totalEncodeTimeUs / _US_PER_S,
        frameWidth=c.frameWidth,
        frameHeight=c.frameHeight,
        headerBytesSent=c.headerBytesSent,
        totalPacketSendDelay=c.totalPacketSendDelayUs / _US_PER_S,
        retransmittedPacketsSent=c.retransmittedPacketsSent,
        retransmittedBytesSent=c.retransmittedBytesSent,
        nackCount=c.nackCount,
        pliCount=c.pliCount,
        firCount=c.firCount,
        fecPacketsSent=c.fecPacketsSent,
        fecBytesSent=c.fecBytesSent,
        rpsiCount=c.rpsiCount,
        ltrFramesSent=c.ltrFramesSent,
        recoveryFramesSent=c.recoveryFramesSent,
        framesCaptured=c.framesCaptured,
        framesLeftOut=c.framesLeftOut,
        framesDropped=c.framesDropped,
        framesExpired=c.framesExpired,
        codecSwitches=c.codecSwitches,
        encodeTries=c.encodeTries,
        totalEncodeCpuTime=c.totalEncodeCpuTimeUs / _US_PER_S,
        malformedRtcp=c.malformedRtcp,
    )
    entries: list[RTCStats] = [codec, outbound]
    if c.roundTripTimeUs is not None:
        entries.append(_remote_inbound(sender, core, codec.timestamp))
    return entries


def inbound_stats(
    receiver: RTCRtpReceiver, core: ReceiverCore, implementation: str
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
        packetsReceived=c.packetsReceived,
        packetsLost=c.packetsLost,
        jitter=c.jitter,
        codecId=codec.id,
        codec=core.codec.codec,
        decoderImplementation=implementation,
        bytesReceived=c.bytesReceived,
        headerBytesReceived=c.headerBytesReceived,
        packetsDiscarded=c.packetsDiscarded,
        retransmittedPacketsReceived=c.retransmittedPacketsReceived,
        fecPacketsReceived=c.fecPacketsReceived,
        fecBytesReceived=c.fecBytesReceived,
        fecPacketsDiscarded=c.fecPacketsDiscarded,
        fecSsrc=flexfec.ssrc if flexfec is not None else None,
        framesReceived=c.framesReceived,
        framesDecoded=c.framesDecoded,
        keyFramesDecoded=c.keyFramesDecoded,
        framesDropped=c.framesDropped,
        freezeCount=c.freezeCount,
        totalFreezesDuration=c.totalFreezesDurationUs / _US_PER_S,
        totalDecodeTime=c.totalDecodeTimeUs / _US_PER_S,
        totalAssemblyTime=c.totalAssemblyTimeUs / _US_PER_S,
        totalInterFrameDelay=c.totalInterFrameDelayUs / _US_PER_S,
        frameWidth=c.frameWidth,
        frameHeight=c.frameHeight,
        nackCount=c.nackCount,
        pliCount=c.pliCount,
        fecPacketsRecovered=c.fecPacketsRecovered,
        rpsiCount=c.rpsiCount,
        ltrAckCount=c.ltrAckCount,
        ltrFramesDecoded=c.ltrFramesDecoded,
        recoveryFramesDecoded=c.recoveryFramesDecoded,
        packetsDuplicated=c.packetsDuplicated,
        malformedPackets=c.malformedRtp,
        malformedRtcp=c.malformedRtcp,
        undecodableFrames=c.undecodableFrames,
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
    sender: RTCRtpSender, core: SenderCore, timestamp: datetime.datetime
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
