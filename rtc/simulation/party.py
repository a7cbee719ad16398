"""What each peer of a scenario brings along before the two are joined."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ...codecs.types import Codec, VideoDecoder, VideoEncoder
from ...ratecontrol.frame_controller import FrameController
from ..adaptation.settings import AdaptationSettings
from ..encoder_session import EncoderSession
from ..estimators import CongestionControl, open_estimator
from ..messages import FlexfecStream, NegotiatedCodec
from ..packetizer import StreamIdentity
from ..playout.av_sync import AvSync
from ..playout.playout import Playout
from ..receive_path import ReceivePath
from ..receiver import ReceiverCore, ReceiverSettings
from ..resilience.settings import Switch
from ..rtp.extensions import (
    ABS_CAPTURE_TIME,
    ABS_SEND_TIME,
    DEPENDENCY_DESCRIPTOR,
    LTR,
    LTR_ACK,
    MID,
    TRANSPORT_CC,
    ExtensionMap,
)
from ..send_path import SendPath
from ..sender import SenderCore, SenderSettings
from .audio import AudioSource
from .clock import PeerClock
from .device import DeviceModel, TimedEncoder
from .ends import CoreReceiver, CoreSender, ReceivingEnd, SendingEnd
from .event_loop import EventLoop
from .keys import WEBRTC
from .plain_feedback import PlainReceivePath
from .playout import ImmediatePlayout, PlayoutStage
from .scenario import PeerScenario, Scenario
from .stock_receiver import StockReceiver
from .stock_sender import StockSender, StockSettings
from .tools import Tools
from .webrtc_adaptation import WebrtcSender

# What CallPeerConnection's own offers say (rtc/connection/capabilities.py and aiortc's tables).
AV1 = NegotiatedCodec(codec=Codec.AV1, payload_type=103, rtx_payload_type=104)
H264 = NegotiatedCodec(codec=Codec.H264, payload_type=99, rtx_payload_type=100)
AIORTC_EXTENSIONS = {MID: 1, ABS_SEND_TIME: 3}
STOCK = "aiortc"
OUR_EXTENSIONS = {DEPENDENCY_DESCRIPTOR: 4, ABS_CAPTURE_TIME: 5}
TRANSPORT_CC_ID = 6
LTR_EXTENSIONS = {LTR: 7, LTR_ACK: 8}
FLEXFEC_PAYLOAD_TYPE = 105


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What the two peers' signalling came to for one direction."""

    cc: CongestionControl
    codecs: tuple[NegotiatedCodec, ...]
    extensions: ExtensionMap
    has_flexfec: bool = False
    peer_score: float | None = None
    """What the receiver's device is thought to be fit for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """One peer: its settings, its clock and device, and its random identity."""

    name: str
    scenario: PeerScenario
    clock: PeerClock
    device: DeviceModel
    identity: StreamIdentity
    flexfec: FlexfecStream
    receiver_ssrc: int
    audio: AudioSource | None
    rng: random.Random
    tools: Tools
    loop: EventLoop

    def sender(self, agreement: Agreement) -> SendingEnd:
        """The end that sends this peer's pictures."""
        if self.scenario.stack == STOCK:
            return self._stock_sender(agreement)
        codecs = sorted(agreement.codecs, key=lambda c: c.codec is not self.scenario.codec)
        path = SendPath(
            estimator=open_estimator(agreement.cc),
            wall_offset_us=self.clock.wall_offset_us,
        )
        core = SenderCore(
            settings=SenderSettings(
                identity=self.identity,
                cname=self.name,
                codecs=tuple(codecs),
                extensions=agreement.extensions,
                target_bps=self.scenario.target_bps,
                preset=self.scenario.preset,
                content=self.scenario.content,
                flexfec=self.flexfec if agreement.has_flexfec else None,
                resilience=self.scenario.resilience,
                adaptation=self._adaptation(agreement),
            ),
            rng=self.rng,
            now_us=self.clock.local_us(self.loop.now_us),
            wall_offset_us=self.clock.wall_offset_us,
            path=path,
        )
        session = EncoderSession(open_encoder=self._encoder, controller=FrameController())
        if self.scenario.adaptation == WEBRTC:
            return WebrtcSender(
                core,
                session,
                interval_us=int(1_000_000 / self.scenario.fps),
                now_us=self.clock.local_us(self.loop.now_us),
            )
        return CoreSender(core, session)

    def receiver(self, agreement: Agreement, *, remote: Party) -> ReceivingEnd:
        """The end that receives the other peer's pictures."""
        estimator = None
        if agreement.cc is CongestionControl.REMB:
            estimator = self.tools.estimator(self.receiver_ssrc, agreement.extensions)
        if self.scenario.stack == STOCK:
            return StockReceiver(
                ssrc=self.receiver_ssrc,
                remote_ssrc=remote.identity.ssrc,
                codec=agreement.codecs[0],
                estimator=estimator,
                rng=self.rng,
                now_us=self.clock.local_us(self.loop.now_us),
            )
        core = ReceiverCore(
            settings=ReceiverSettings(
                ssrc=self.receiver_ssrc,
                codecs=agreement.codecs,
                extensions=agreement.extensions,
                remote_ssrc=remote.identity.ssrc,
                flexfec=remote.flexfec if agreement.has_flexfec else None,
                resilience=self.scenario.resilience,
                decode_reports=True,
            ),
            rng=self.rng,
            now_us=self.clock.local_us(self.loop.now_us),
            path=self._receive_path(agreement.cc),
        )
        return CoreReceiver(core, estimator=estimator)

    def open_decoder(self, codec: Codec) -> VideoDecoder:
        """A decoder of this peer's stack."""
        if self.scenario.stack == STOCK:
            return self.tools.open_stock_decoder()
        return self.tools.open_decoder(codec)

    def playout(self, av_sync: AvSync) -> PlayoutStage:
        """Where decoded pictures wait, also for their sound: nowhere in stock aiortc."""
        stock = self.scenario.stack == STOCK
        return ImmediatePlayout() if stock else Playout(av_sync=av_sync)

    def _receive_path(self, cc: CongestionControl) -> ReceivePath | None:
        """Plain GCC is what a browser does, its receiver's part included."""
        if cc is CongestionControl.GCC:
            return PlainReceivePath(ssrc=self.receiver_ssrc)
        return ReceivePath(ssrc=self.receiver_ssrc) if cc.uses_transport_feedback else None

    def _adaptation(self, agreement: Agreement) -> AdaptationSettings:
        return AdaptationSettings(
            enabled=self.scenario.adaptation == "true",
            cpu_budget_ratio=self.scenario.cpu_budget_ratio,
            own_score=self.scenario.rtc_score,
            peer_score=agreement.peer_score,
        )

    def _stock_sender(self, agreement: Agreement) -> SendingEnd:
        return StockSender(
            StockSettings(
                identity=self.identity,
                codec=agreement.codecs[0],
                extensions=agreement.extensions,
                wall_offset_us=self.clock.wall_offset_us,
                open_encoder=lambda: self._timed(self.tools.open_stock_encoder()),
            ),
            rng=self.rng,
            now_us=self.clock.local_us(self.loop.now_us),
        )

    def _encoder(self, codec: Codec, width: int, height: int) -> VideoEncoder:
        return self._timed(self.tools.open_encoder(codec, width, height))

    def _timed(self, encoder: VideoEncoder) -> VideoEncoder:
        return TimedEncoder(encoder, device=self.device, now_us=lambda: self.loop.now_us)


def party(scenario: Scenario, role: str, *, call: int, tools: Tools, loop: EventLoop) -> Party:
    """The peer "a" or "b" of a call, which counts from 1: those of the second are a2 and b2.

    Its random numbers depend on the seed and its name alone.
    """
    name = role if call == 1 else f"{role}{call}"
    mine, rng = scenario.peers[role], tools.generator(f"peer {name}")
    ssrc, rtx_ssrc, receiver_ssrc, audio_ssrc, fec_ssrc = rng.sample(range(1, 1 << 32), 5)
    audio = None
    if mine.audio_bps:
        audio = AudioSource(bitrate_bps=mine.audio_bps, video_bps=mine.target_bps, ssrc=audio_ssrc)
    return Party(
        name=name,
        scenario=mine,
        clock=PeerClock(fast_ppm=mine.clock_ppm, wall_error_us=mine.wall_error_us),
        device=DeviceModel(
            factor=mine.device,
            av1_encode=mine.av1_encode,
            av1_decode=mine.av1_decode,
            costs=tools.costs,
        ),
        identity=StreamIdentity(
            ssrc=ssrc,
            rtx_ssrc=rtx_ssrc,
            mid="1",
            first_sequence=rng.randrange(1 << 15),
            first_rtx_sequence=rng.randrange(1 << 15),
            first_fec_sequence=rng.randrange(1 << 15),
            first_timestamp=rng.randrange(1 << 32),
        ),
        flexfec=FlexfecStream(payload_type=FLEXFEC_PAYLOAD_TYPE, ssrc=fec_ssrc),
        receiver_ssrc=receiver_ssrc,
        audio=audio,
        rng=rng,
        tools=tools,
        loop=loop,
    )


def agree(scenario: Scenario, *, sender: str) -> Agreement:
    """What both peers can do for what one of them sends.

    Where one is stock aiortc that is H.264 without our extensions, steered by REMB.
    """
    peers = scenario.peers.values()
    if any(peer.stack == STOCK for peer in peers):
        return Agreement(
            cc=CongestionControl.REMB, codecs=(H264,), extensions=ExtensionMap(AIORTC_EXTENSIONS)
        )
    cc = scenario.peers[sender].cc
    extensions = AIORTC_EXTENSIONS | OUR_EXTENSIONS
    if all(peer.resilience.ltr is not Switch.OFF for peer in peers):
        extensions |= LTR_EXTENSIONS
    if not all(peer.descriptor for peer in peers):
        del extensions[DEPENDENCY_DESCRIPTOR]
    if cc.uses_transport_feedback:
        extensions[TRANSPORT_CC] = TRANSPORT_CC_ID
    return Agreement(
        cc=cc,
        codecs=(AV1, H264),
        extensions=ExtensionMap(extensions),
        has_flexfec=all(peer.resilience.fec is not Switch.OFF for peer in peers),
        peer_score=next(p.rtc_score for name, p in scenario.peers.items() if name != sender),
    )
