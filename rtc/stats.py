"""Counters of a stream and of a path, under the names of W3C webrtc-stats (https://www.w3.org/TR/webrtc-stats/).

Times are integer microseconds inside (…Us); the adapter converts to W3C's seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..codecs.types import EncodedFrame
from .adaptation.quality_limitation import QualityLimitationReason
from .encode_loop import Skipped


@dataclass(slots=True)
class OutboundCounters:
    """RTCOutboundRtpStreamStats, and what it lacks: pictures captured and dropped, frames never sent.

    framesLeftOut counts pictures that the frame rate leaves out, framesDropped those that found the
    encoder busy or no room; framesExpired encoded frames that would have left too late, or that depend
    on such a one.
    """

    framesCaptured: int = 0
    framesLeftOut: int = 0
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
    fecPacketsSent: int = 0
    fecBytesSent: int = 0
    ltrFramesSent: int = 0
    recoveryFramesSent: int = 0
    nackCount: int = 0
    pliCount: int = 0
    firCount: int = 0
    rpsiCount: int = 0
    nacksHeld: int = 0
    codecSwitches: int = 0
    qualityLimitationReason: QualityLimitationReason = QualityLimitationReason.NONE
    qualityLimitationResolutionChanges: int = 0
    roundTripTimeUs: int | None = None
    remotePacketsLost: int = 0
    remoteFractionLost: int = 0
    remoteJitter: int = 0
    malformedRtcp: int = 0

    def count_encoded(self, frame: EncodedFrame) -> None:
        """Count a frame that is going to be sent."""
        self.framesEncoded += 1
        self.keyFramesEncoded += frame.key
        self.encodeTries += frame.tries
        self.qpSum += frame.quantizer
        self.totalEncodeTimeUs += frame.encode_us
        self.totalEncodeCpuTimeUs += frame.encode_cpu_us
        self.frameWidth, self.frameHeight = frame.width, frame.height

    def count_marks(self, frame: EncodedFrame, *, is_recovery: bool) -> None:
        """Count what a frame is to long-term references."""
        self.ltrFramesSent += frame.ltr_slot is not None
        self.recoveryFramesSent += is_recovery

    def count_skipped(self, skipped: Skipped | None) -> None:
        """Count a picture that is not sent; None when the encoder failed on it."""
        self.framesDropped += 1
        if skipped is not None:
            self.encodeTries += skipped.tries
            self.totalEncodeTimeUs += skipped.encode_us
            self.totalEncodeCpuTimeUs += skipped.encode_cpu_us


@dataclass(slots=True)
class InboundCounters:
    """RTCInboundRtpStreamStats, and what was refused or recovered.

    fecPacketsRecovered counts media packets that FEC gave back, which packetsLost counts too. rpsiCount
    and ltrAckCount are the requests and acknowledgements sent by RTCP, ltrFramesDecoded and
    recoveryFramesDecoded the marked frames (LTR, LTRP). framesDroppedBehind are those of framesDropped that
    the decoder had no time for, catchUps how often it went on from a newer frame for that reason.
    """

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
    framesDroppedBehind: int = 0
    catchUps: int = 0
    totalDecodeTimeUs: int = 0
    totalAssemblyTimeUs: int = 0
    frameWidth: int = 0
    frameHeight: int = 0
    freezeCount: int = 0
    totalFreezesDurationUs: int = 0
    totalInterFrameDelayUs: int = 0
    fecPacketsReceived: int = 0
    fecBytesReceived: int = 0
    fecPacketsDiscarded: int = 0
    fecPacketsRecovered: int = 0
    nackCount: int = 0
    pliCount: int = 0
    rpsiCount: int = 0
    ltrAckCount: int = 0
    ltrFramesDecoded: int = 0
    recoveryFramesDecoded: int = 0
    malformedRtp: int = 0
    malformedRtcp: int = 0
    undecodableFrames: int = 0


@dataclass(slots=True)
class PathCounters:
    """What a path's pacer did besides sending media: padding as packets and datagrams' bytes.

    repairsExpired counts retransmissions and FEC that waited until they were of no use.
    """

    paddingPacketsSent: int = 0
    paddingBytesSent: int = 0
    repairsExpired: int = 0
