"""What a stream gives up as its rate falls, besides quality and size: pictures a second, and H.264.

Size is the frame controller's to choose, who sees what each picture takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..codecs.errors import LocalError
from ..codecs.types import Codec, EncodedFrame, Picture
from ..ratecontrol.frame_rate import FrameRateLadder
from .codec_ladder import CodecLadder, CodecReason
from .messages import NegotiatedCodec
from .quality_limitation import QualityLimitation
from .stats import OutboundCounters


class RateAdaptation:
    """Follows one stream. Counts into its counters what it decides."""

    def __init__(
        self, *, codecs: Sequence[NegotiatedCodec], counters: OutboundCounters, now_us: int
    ) -> None:
        """codecs are in the application's order; the stream begins with the first."""
        self.codec = codecs[0]
        self.codec_reason = CodecReason.APPLICATION
        self.limitation = QualityLimitation(now_us=now_us)
        self._negotiated = codecs
        self._is_codec_fixed = False
        self._codecs = CodecLadder([negotiated.codec for negotiated in codecs])
        self._frame_rate = FrameRateLadder()
        self._counters = counters

    @property
    def every(self) -> int:
        """One of how many captured pictures is sent."""
        return self._frame_rate.every

    def set_codec(self, codec: Codec | None) -> None:
        """Use this codec whatever the rate; None leaves it to the rate again."""
        if codec is not None:
            self._use(codec, reason=CodecReason.APPLICATION)
        self._is_codec_fixed = codec is not None

    def takes(self, picture: Picture, *, at_once: bool) -> bool:
        """Whether to send a captured picture.

        at_once is for one that cannot wait, such as a key frame that was asked for.
        """
        self._counters.framesCaptured += 1
        taken = self._frame_rate.keeps(picture.capture_us, at_once=at_once)
        self._counters.framesLeftOut += not taken
        return taken

    def taken(self, *, is_busy: bool, now_us: int) -> None:
        """A picture was taken; is_busy: the one before was still waiting for the encoder."""
        self.limitation.picture(replaced=is_busy, now_us=now_us)
        self._counters.qualityLimitationReason = self.limitation.reason

    def decide(self, picture: Picture, *, target_bps: int, max_bps: int, now_us: int) -> None:
        """This picture is to be coded next, at target_bps where the application would have max_bps.

        Sets its codec, and the pace of those after it.
        """
        self._frame_rate.decide(target_bps, now_us=now_us)
        self.limitation.rate(target_bps, max_bps=max_bps, now_us=now_us)
        self._counters.qualityLimitationReason = self.limitation.reason
        if self._is_codec_fixed:
            return
        used, size = self.codec.codec, (picture.width, picture.height)
        codec = self._codecs.propose(used, target_bps=target_bps, picture=size, now_us=now_us)
        if codec is not used:
            self._use(codec, reason=CodecReason.RATE)

    def coded(self, frame: EncodedFrame, *, picture: Picture) -> None:
        """This frame came of that picture."""
        self.limitation.coded((frame.width, frame.height), picture=(picture.width, picture.height))
        changes = self.limitation.resolution_changes
        self._counters.qualityLimitationResolutionChanges = changes

    def _use(self, codec: Codec, *, reason: CodecReason) -> None:
        negotiated = next((c for c in self._negotiated if c.codec is codec), None)
        if negotiated is None:
            names = ", ".join(c.codec for c in self._negotiated)
            raise LocalError(f"{codec} was not negotiated, only {names}")
        self._counters.codecSwitches += negotiated is not self.codec
        self.codec, self.codec_reason = negotiated, reason
