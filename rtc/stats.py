"""Counters of a stream, under the names of W3C webrtc-stats (https://www.w3.org/TR/webrtc-stats/).

Times are integer microseconds inside (…Us); the adapter converts to W3C's seconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class OutboundCounters:
    """RTCOutboundRtpStreamStats, and what it lacks: pictures captured and dropped, frames never sent.

    framesExpired counts encoded frames that would have left too late, or that depend on such a one.
    """

    framesCaptured: int = 0
    framesDropped: int = 0
    framesExpired: int = 0
    framesEncoded: int = 0
    framesSent: int = 0
    keyFramesEncoded: int = 0
    encodeTries: int = 0
    qpSum: int = 0
    totalEncodeTimeUs: int = 0
    totalEncodeCpuTimeUs: int = 0
    frameWidth: int = 0
    frameHeight: int = 0
    packetsSent: int = 0
    bytesSent: int = 0
    headerBytesSent: int = 0
    totalPacketSendDelayUs: int = 0
    retransmittedPacketsSent: int = 0
    retransmittedBytesSent: int = 0
    nackCount: int = 0
    pliCount: int = 0
    firCount: int = 0
    targetBitrate: int = 0
    roundTripTimeUs: int | None = None
    remotePacketsLost: int = 0
    remoteFractionLost: int = 0
    remoteJitter: int = 0
    malformedRtcp: int = 0


@dataclass(slots=True)
class InboundCounters:
    """RTCInboundRtpStreamStats, and what was refused."""

    packetsReceived: int = 0
    packetsLost: int = 0
    packetsDiscarded: int = 0
    packetsDuplicated: int = 0
    retransmittedPacketsReceived: int = 0
    bytesReceived: int = 0
    headerBytesReceived: int = 0
    jitter: int = 0
    framesReceived: int = 0
    framesDecoded: int = 0
    keyFramesDecoded: int = 0
    framesDropped: int = 0
    totalDecodeTimeUs: int = 0
    totalAssemblyTimeUs: int = 0
    frameWidth: int = 0
    frameHeight: int = 0
    freezeCount: int = 0
    totalFreezesDurationUs: int = 0
    totalInterFrameDelayUs: int = 0
    nackCount: int = 0
    pliCount: int = 0
    malformedRtp: int = 0
    malformedRtcp: int = 0
    undecodableFrames: int = 0
