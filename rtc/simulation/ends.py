"""The two ends of a stream as the simulator runs them: the cores of live calls, drained as there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...codecs.errors import RemoteError
from ...codecs.types import EncodedFrame, Picture
from ...ratecontrol.messages import DropReason
from ..adaptation.decisions import AdaptationDecision
from ..adaptation.health import DeviceHealth
from ..drain import ReceiverOutput, SenderOutput, drain_receiver, drain_sender
from ..encode_loop import Skipped
from ..encoder_session import EncodeJob, EncoderSession
from ..ltr_exchange import LtrExchange
from ..messages import DecodedFrame
from ..receiver import ReceiverCore
from ..resilience.decisions import Decision
from ..rtp.packet import RtpPacket, parse_rtp
from ..rtp.rtcp import RtcpMessage, TransportFeedback
from ..sender import SenderCore
from ..stats import InboundCounters, OutboundCounters


class SendingEnd(Protocol):
    """What sends one video stream. Times are its peer's own clock."""

    @property
    def counters(self) -> OutboundCounters:
        """What was sent so far."""
        ...

    @property
    def rtt_us(self) -> int | None:
        """The path's round-trip time, once it is known."""
        ...

    @property
    def target_bps(self) -> int:
        """The rate that the encoder is asked to hold."""
        ...

    @property
    def estimate_bps(self) -> int | None:
        """What the sender thinks that the path carries; None where it heeds REMB or nothing."""
        ...

    def handle_picture(self, picture: Picture) -> DropReason | None:
        """Take a captured picture; tells why where it is left out."""
        ...

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """Take one RTCP message."""
        ...

    def drain(self, *, now_us: int) -> SenderOutput:
        """Everything that is ready."""
        ...

    def encode(self, job: EncodeJob) -> EncodedFrame | Skipped:
        """Run a job; its result goes to handle_encoded once the device is through with it."""
        ...

    def handle_encoded(self, result: EncodedFrame | Skipped, *, now_us: int) -> None:
        """Take a job's result."""
        ...

    def poll_decisions(self) -> list[Decision]:
        """What was decided against loss since the last call."""
        ...

    def handle_health(self, health: DeviceHealth, *, now_us: int) -> None:
        """Take how the device stands."""
        ...

    def poll_adaptations(self) -> list[AdaptationDecision]:
        """What was decided about codec, preset and size since the last call."""
        ...

    def close(self) -> None:
        """Free the encoder."""
        ...


class ReceivingEnd(Protocol):
    """What receives one video stream. Times are its peer's own clock."""

    @property
    def counters(self) -> InboundCounters:
        """What was received so far."""
        ...

    def exchange(self, sender: SendingEnd, *, now_us: int) -> None:
        """Take what the same peer's sending end knows, and tell it what it has to."""
        ...

    def handle_rtp(self, data: bytes, *, now_us: int) -> None:
        """Take one RTP packet."""
        ...

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """Take one RTCP message."""
        ...

    def drain(self, *, now_us: int) -> ReceiverOutput:
        """Everything that is ready."""
        ...

    def handle_decoded(
        self, picture: Picture | None, *, failed: bool, decode_us: int, now_us: int
    ) -> DecodedFrame | None:
        """Take the decoder's answer; None for a frame that shows no picture."""
        ...

    def handle_probed(self, decode_us: int, *, now_us: int) -> None:
        """Take the time of a frame that was decoded for that alone."""
        ...


class Estimator(Protocol):
    """A receiver's estimate of the path, told to the sender as REMB."""

    def packet(self, packet: RtpPacket, *, media_ssrc: int, arrival_us: int) -> bytes | None:
        """Take a packet of the source; the RTCP packet that it calls for, if any."""
        ...


class CoreSender:
    """SenderCore with its encoder, alone on its path."""

    def __init__(self, core: SenderCore, session: EncoderSession) -> None:
        self.path = core.path
        self.core = core
        self._session = session
        self.handle_picture: Callable[[Picture], DropReason | None] = core.handle_picture
        self.encode: Callable[[EncodeJob], EncodedFrame | Skipped] = session.run
        self.close: Callable[[], None] = session.close
        self.poll_decisions: Callable[[], list[Decision]] = core.poll_decisions
        self.poll_adaptations: Callable[[], list[AdaptationDecision]] = core.poll_adaptations

    @property
    def counters(self) -> OutboundCounters:
        """See SendingEnd."""
        return self.core.counters

    @property
    def rtt_us(self) -> int | None:
        """See SendingEnd."""
        return self.core.rtt_us

    @property
    def target_bps(self) -> int:
        """See SendingEnd."""
        return self.core.target_bps

    @property
    def estimate_bps(self) -> int | None:
        """See SendingEnd."""
        return self.path.available_outgoing_bps

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """See SendingEnd."""
        if isinstance(message, TransportFeedback):
            self.path.handle_feedback(message, now_us=now_us)
        else:
            self.core.handle_rtcp(message, now_us=now_us)

    def handle_health(self, health: DeviceHealth, *, now_us: int) -> None:
        """See SendingEnd."""
        self.core.handle_health(health, now_us=now_us)

    def handle_encoded(self, result: EncodedFrame | Skipped, *, now_us: int) -> None:
        """See SendingEnd."""
        self.core.handle_encoded(result, now_us=now_us)

    def drain(self, *, now_us: int) -> SenderOutput:
        """See SendingEnd."""
        return drain_sender(self.core, now_us=now_us)


class CoreReceiver:
    """ReceiverCore, and the estimator that speaks beside it in a live call."""

    def __init__(self, core: ReceiverCore, *, estimator: Estimator | None) -> None:
        self._core = core
        self._estimator = estimator
        self._estimate: bytes | None = None
        self._ltr_exchange = LtrExchange()

    @property
    def counters(self) -> InboundCounters:
        """See ReceivingEnd."""
        return self._core.counters

    def exchange(self, sender: SendingEnd, *, now_us: int) -> None:
        """See ReceivingEnd."""
        if sender.rtt_us is not None:
            self._core.set_rtt(sender.rtt_us)
        if isinstance(sender, CoreSender):
            self._ltr_exchange.exchange(sender=sender.core, receiver=self._core, now_us=now_us)

    def handle_rtp(self, data: bytes, *, now_us: int) -> None:
        """See ReceivingEnd."""
        self._core.handle_rtp(data, now_us=now_us)
        media_ssrc = self._core.remote_ssrc
        if self._estimator is not None and media_ssrc is not None:
            try:
                self._estimate = self._estimator.packet(
                    parse_rtp(data), media_ssrc=media_ssrc, arrival_us=now_us
                )
            except RemoteError:
                return  # the core has counted it

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """See ReceivingEnd."""
        self._core.handle_rtcp(message, now_us=now_us)

    def drain(self, *, now_us: int) -> ReceiverOutput:
        """See ReceivingEnd."""
        output = drain_receiver(self._core, now_us=now_us)
        if self._estimate is not None:
            output.rtcp.append(self._estimate)
            self._estimate = None
        return output

    def handle_decoded(
        self, picture: Picture | None, *, failed: bool, decode_us: int, now_us: int
    ) -> DecodedFrame | None:
        """See ReceivingEnd."""
        return self._core.handle_decoded(picture, failed=failed, decode_us=decode_us, now_us=now_us)

    def handle_probed(self, decode_us: int, *, now_us: int) -> None:
        """See ReceivingEnd."""
        self._core.handle_probed(decode_us, now_us=now_us)
