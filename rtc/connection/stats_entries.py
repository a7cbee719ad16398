"""The statistics entries that aiortc lacks or that say more than its own."""

from __future__ import annotations

from dataclasses import dataclass

from aiortc.stats import RTCInboundRtpStreamStats, RTCOutboundRtpStreamStats, RTCStats


@dataclass
class RTCCodecStats(RTCStats):
    """A codec in use (W3C webrtc-stats 8.2)."""

    payloadType: int
    mimeType: str
    clockRate: int
    transportId: str


@dataclass
class RTCIceCandidatePairStats(RTCStats):
    """The pair that carries a transport (W3C webrtc-stats 8.15); what follows the estimate is ours.

    availableOutgoingBitrate is None where no transport-wide feedback steers the rate. pacerDelay is
    how long a frame that came now would wait, in seconds; transportFeedbackIgnored counts messages
    that said nothing new, or nothing possible.
    """

    transportId: str
    state: str
    nominated: bool
    packetsSent: int
    packetsReceived: int
    bytesSent: int
    bytesReceived: int
    availableOutgoingBitrate: int | None
    pacerDelay: float
    bytesInFlight: int
    paddingBytesSent: int
    transportFeedbackReceived: int
    transportFeedbackIgnored: int


@dataclass
class CallOutboundRtpStreamStats(RTCOutboundRtpStreamStats):
    """Outgoing video; codec and what follows firCount are ours. Times in seconds.

    rpsiCount counts requests to go on from a long-term reference, ltrFramesSent such references,
    recoveryFramesSent frames that go on from one; nacksHeld packets that were asked for while FEC for
    them was under way. preset is the AV1 preset's name, adaptationReason why it, codec, size and
    scalabilityMode are what they are, adaptations how often they were decided anew.
    """

    mid: str
    codecId: str
    codec: str
    encoderImplementation: str
    scalabilityMode: str
    targetBitrate: int
    qualityLimitationReason: str
    qualityLimitationDurations: dict[str, float]
    qualityLimitationResolutionChanges: int
    framesEncoded: int
    framesSent: int
    keyFramesEncoded: int
    qpSum: int
    totalEncodeTime: float
    frameWidth: int
    frameHeight: int
    headerBytesSent: int
    totalPacketSendDelay: float
    retransmittedPacketsSent: int
    retransmittedBytesSent: int
    nackCount: int
    pliCount: int
    firCount: int
    nacksHeld: int
    fecPacketsSent: int
    fecBytesSent: int
    rpsiCount: int
    ltrFramesSent: int
    recoveryFramesSent: int
    framesCaptured: int
    framesLeftOut: int
    framesDropped: int
    framesExpired: int
    codecSwitches: int
    preset: str
    adaptationReason: str
    adaptations: int
    encodeTries: int
    totalEncodeCpuTime: float
    malformedRtcp: int


@dataclass
class CallInboundRtpStreamStats(RTCInboundRtpStreamStats):
    """Incoming video; codec and what follows pliCount are ours. Times in seconds.

    fecSsrc is None where FEC has no source of its own. fecPacketsRecovered counts media packets that FEC
    gave back, rpsiCount and ltrAckCount what was sent by RTCP, ltrFramesDecoded and
    recoveryFramesDecoded long-term references and frames that go on from one. framesDroppedBehind are
    those of framesDropped that the decoder had no time for, catchUps how often it went on from a newer
    frame for that reason.
    """

    codecId: str
    codec: str
    decoderImplementation: str
    bytesReceived: int
    headerBytesReceived: int
    packetsDiscarded: int
    retransmittedPacketsReceived: int
    fecPacketsReceived: int
    fecBytesReceived: int
    fecPacketsDiscarded: int
    fecSsrc: int | None
    framesReceived: int
    framesDecoded: int
    keyFramesDecoded: int
    framesDropped: int
    freezeCount: int
    totalFreezesDuration: float
    totalDecodeTime: float
    totalAssemblyTime: float
    totalInterFrameDelay: float
    frameWidth: int
    frameHeight: int
    nackCount: int
    pliCount: int
    fecPacketsRecovered: int
    rpsiCount: int
    ltrAckCount: int
    ltrFramesDecoded: int
    recoveryFramesDecoded: int
    framesDroppedBehind: int
    catchUps: int
    packetsDuplicated: int
    malformedPackets: int
    malformedRtcp: int
    undecodableFrames: int
