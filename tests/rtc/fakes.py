"""Fakes with behaviour: a codec that knows what it depends on, and two cores joined by a link in virtual time."""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from codecpilot.codecs.errors import RemoteError
from codecpilot.codecs.types import Codec, EncodedFrame, EncodeRequest, Picture
from codecpilot.ratecontrol.bandwidth.messages import BandwidthEstimator
from codecpilot.ratecontrol.frame_controller import FrameController
from codecpilot.rtc.datagram import RTP_OVERHEAD_BYTES
from codecpilot.rtc.drain import drain_receiver, drain_sender
from codecpilot.rtc.encoder_session import EncodeJob, EncoderSession
from codecpilot.rtc.messages import (
    DecodedFrame,
    FlexfecStream,
    NegotiatedCodec,
    ReceivedFrame,
    RedPayloadTypes,
)
from codecpilot.rtc.packetizer import StreamIdentity
from codecpilot.rtc.receive_path import ReceivePath
from codecpilot.rtc.receiver import ReceiverCore, ReceiverSettings
from codecpilot.rtc.resilience.settings import ResilienceSettings
from codecpilot.rtc.rtp.extensions import (
    ABS_CAPTURE_TIME,
    ABS_SEND_TIME,
    DEPENDENCY_DESCRIPTOR,
    LTR,
    LTR_ACK,
    MID,
    TRANSPORT_CC,
    ExtensionMap,
)
from codecpilot.rtc.rtp.rtcp import parse_rtcp
from codecpilot.rtc.rtp.rtcp_transport_feedback import TransportFeedback
from codecpilot.rtc.send_path import SendPath
from codecpilot.rtc.sender import SenderCore, SenderSettings

AV1 = NegotiatedCodec(codec=Codec.AV1, payload_type=45, rtx_payload_type=46)
H264 = NegotiatedCodec(codec=Codec.H264, payload_type=99, rtx_payload_type=100)
IDS = {MID: 1, ABS_SEND_TIME: 3, DEPENDENCY_DESCRIPTOR: 4, ABS_CAPTURE_TIME: 5}
PATH_IDS = IDS | {TRANSPORT_CC: 6}
LTR_IDS = {LTR: 7, LTR_ACK: 8}
FLEXFEC = FlexfecStream(payload_type=122, ssrc=4444)
RED = RedPayloadTypes(red=120, ulpfec=121, rtx=119)
IDENTITY = StreamIdentity(
    ssrc=1111,
    rtx_ssrc=2222,
    mid="0",
    first_sequence=65_500,
    first_rtx_sequence=10,
    first_timestamp=0xFFFF_0000,
)
WALL_OFFSET_US = 3_900_000_000_000_000
FRAME_US = 33_333
ENCODE_US = 5_000
DECODE_US = 2_000


def picture(capture_us: int, *, width: int = 64, height: int = 48) -> Picture:
    chroma = np.full(((height + 1) // 2, (width + 1) // 2), 128, np.uint8)
    return Picture(
        y=np.full((height, width), 90, np.uint8), u=chroma, v=chroma, capture_us=capture_us
    )


def av1_unit(payload: bytes, *, key: bool) -> bytes:
    """A temporal unit that is well framed, whatever its frame OBU holds."""
    size = len(payload)
    leb128 = bytes((size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14))
    sequence_header = b"\x0a\x03abc" if key else b""
    return b"\x12\x00" + sequence_header + b"\x32" + leb128 + payload


class FakeEncoder:
    """Makes frames of the size that a rate and a quantizer call for; each names its dependencies."""

    can_retry = True

    def __init__(self, codec: Codec = Codec.AV1) -> None:
        self.codec = codec
        self.implementation = f"fake {codec}"
        self.requests: list[EncodeRequest] = []

    def encode(self, request: EncodeRequest) -> EncodedFrame:
        self.requests.append(request)
        bits = (40_000 if request.key else 8_000) * 2 ** (-request.quantizer / 16)
        meta = json.dumps({"id": request.frame_id, "needs": request.dependencies}).encode()
        payload = meta.ljust(max(int(bits) // 8, len(meta)), b" ")
        if self.codec is Codec.AV1:
            data = av1_unit(payload, key=request.key)
        else:
            parameters = b"\0\0\0\1\x67\x42\xc0\x1e\0\0\0\1\x68\xce" if request.key else b""
            data = parameters + b"\0\0\0\1" + (b"\x65" if request.key else b"\x41") + payload
        return EncodedFrame(
            data=data,
            codec=self.codec,
            frame_id=request.frame_id,
            capture_us=request.picture.capture_us,
            key=request.key,
            quantizer=request.quantizer,
            temporal_id=request.temporal_id,
            dependencies=request.dependencies,
            ltr_slot=request.ltr_slot,
            width=request.picture.width,
            height=request.picture.height,
            encode_us=ENCODE_US,
            encode_cpu_us=ENCODE_US,
        )

    def close(self) -> None:
        pass


class FakeDecoder:
    """Fails the test when it is given a frame whose dependencies it did not decode."""

    def __init__(self) -> None:
        self.decoded: list[int] = []

    def decode(self, frame: ReceivedFrame) -> Picture:
        # Sizes in front of it may look like a brace.
        start = frame.data.index(b'{"id"')
        meta = json.loads(frame.data[start : frame.data.index(b"}", start) + 1])
        missing = set(meta["needs"]) - set(self.decoded)
        assert not missing, f"frame {meta['id']} was decoded without {missing}"
        assert not self.decoded or meta["id"] > self.decoded[-1]
        self.decoded.append(meta["id"])
        return picture(0)


@dataclass
class FakeLink:
    """One direction: loses, delays, duplicates and reorders by a seeded generator.

    With a capacity datagrams queue for it, up to queue_us of waiting; then they are lost.
    """

    rng: random.Random
    delay_us: int = 20_000
    loss: float = 0.0
    duplication: float = 0.0
    jitter_us: int = 0
    drop: Callable[[bytes], bool] = field(default=lambda data: False)
    capacity_bps: int | None = None
    queue_us: int = 300_000
    free_us: int = 0

    def deliveries(self, data: bytes, now_us: int) -> list[int]:
        if self.rng.random() < self.loss or self.drop(data):
            return []
        if self.capacity_bps is not None:
            if self.free_us - now_us > self.queue_us:
                return []
            serial_us = (len(data) + RTP_OVERHEAD_BYTES) * 8_000_000 // self.capacity_bps
            now_us = self.free_us = max(now_us, self.free_us) + serial_us
        copies = 2 if self.rng.random() < self.duplication else 1
        return [now_us + self.delay_us + self.rng.randint(0, self.jitter_us) for _ in range(copies)]


class Pair:
    """A sender and a receiver core and the links between them, run from event to event."""

    def __init__(
        self,
        *,
        seed: int = 1,
        codecs: tuple[NegotiatedCodec, ...] = (AV1, H264),
        descriptor: bool = True,
        target_bps: int = 300_000,
        estimator: BandwidthEstimator | None = None,
        resilience: ResilienceSettings | None = None,
        marks: bool = False,
        flexfec: FlexfecStream | None = None,
        red: RedPayloadTypes | None = None,
        decode_reports: bool = False,
    ) -> None:
        """With an estimator the two agree on transport-wide feedback, with marks on LTRs."""
        rng = random.Random(seed)
        ids = IDS if estimator is None else PATH_IDS
        ids = ids | LTR_IDS if marks else ids
        resilience = resilience or ResilienceSettings()
        ids = {u: i for u, i in ids.items() if descriptor or u != DEPENDENCY_DESCRIPTOR}
        self.now_us = 1_000_000
        self.media = FakeLink(rng)
        self.feedback = FakeLink(rng)
        self.sender = SenderCore(
            settings=SenderSettings(
                identity=IDENTITY,
                cname="a",
                codecs=codecs,
                extensions=ExtensionMap(ids),
                target_bps=target_bps,
                flexfec=flexfec,
                red=red,
                resilience=resilience,
            ),
            rng=rng,
            now_us=self.now_us,
            wall_offset_us=WALL_OFFSET_US,
            path=SendPath(estimator=estimator, wall_offset_us=WALL_OFFSET_US),
        )
        self.receiver = ReceiverCore(
            settings=ReceiverSettings(
                ssrc=3333,
                codecs=codecs,
                extensions=ExtensionMap(ids),
                flexfec=flexfec,
                red=red,
                resilience=resilience,
                decode_reports=decode_reports,
            ),
            rng=rng,
            now_us=self.now_us,
            path=ReceivePath(ssrc=3333) if estimator is not None else None,
        )
        self.session = EncoderSession(
            open_encoder=lambda codec, width, height: FakeEncoder(codec),
            controller=FrameController(),
        )
        self.decoder = FakeDecoder()
        self.decode_us: Callable[[ReceivedFrame], int] = lambda frame: DECODE_US
        self.probed: list[ReceivedFrame] = []
        self.refuse: Callable[[ReceivedFrame], bool] = lambda frame: False
        self.shown: list[DecodedFrame] = []
        self.received: list[ReceivedFrame] = []
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._captured = 0

    def at(self, time_us: int, action: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (time_us, self._order, action))

    def run(self, seconds: float, *, capture: bool = True) -> None:
        end_us = self.now_us + int(seconds * 1_000_000)
        if capture:
            for time_us in range(self.now_us, end_us, FRAME_US):
                self.at(time_us, self._capture)
        while True:
            due = [e[0] for e in self._events[:1]]
            due += [t for t in (self.sender.poll_timeout(), self.receiver.poll_timeout()) if t]
            if not due or min(due) >= end_us:
                break
            # A due timer that changes nothing would stop virtual time: it may not be in the past.
            assert min(due) >= self.now_us or self._events
            self.now_us = max(self.now_us, min(due))
            while self._events and self._events[0][0] <= self.now_us:
                heapq.heappop(self._events)[2]()
                self._drain()
            self._drain()
        self.now_us = end_us

    def _capture(self) -> None:
        self._captured += 1
        self.sender.handle_picture(picture(self.now_us))

    def _drain(self) -> None:
        sent = drain_sender(self.sender, now_us=self.now_us)
        if sent.job is not None:
            job = sent.job
            self.at(self.now_us + ENCODE_US, lambda: self._encoded(job))
        for data in (*sent.rtp, *sent.rtcp):
            for time_us in self.media.deliveries(data, self.now_us):
                self.at(time_us, lambda data=data: self._to_receiver(data))
        received = drain_receiver(self.receiver, now_us=self.now_us)
        if received.frame is not None:
            frame = received.frame
            self.received.append(frame)
            decode_us = self.decode_us(frame)
            self.at(self.now_us + decode_us, lambda: self._decoded(frame, decode_us))
        if received.probe is not None:
            self.probed.append(received.probe)
            probe_us = self.decode_us(received.probe)
            self.at(self.now_us + probe_us, lambda: self._probed(probe_us))
        for data in received.rtcp:
            for time_us in self.feedback.deliveries(data, self.now_us):
                self.at(time_us, lambda data=data: self._to_sender(data))

    def _encoded(self, job: EncodeJob) -> None:
        self.sender.handle_encoded(self.session.run(job), now_us=self.now_us)

    def _probed(self, decode_us: int) -> None:
        self.receiver.handle_probed(decode_us, now_us=self.now_us)

    def _decoded(self, frame: ReceivedFrame, decode_us: int) -> None:
        shown = None
        try:
            if self.refuse(frame):
                raise RemoteError("refused by the test")
            shown = self.decoder.decode(frame)
        except RemoteError:
            pass
        result = self.receiver.handle_decoded(
            shown, failed=shown is None, decode_us=decode_us, now_us=self.now_us
        )
        if result is not None:
            self.shown.append(result)
            self.receiver.handle_shown(now_us=self.now_us)

    def _to_receiver(self, data: bytes) -> None:
        if 200 <= data[1] <= 207:
            for message in parse_rtcp(data):
                self.receiver.handle_rtcp(message, now_us=self.now_us)
        else:
            self.receiver.handle_rtp(data, now_us=self.now_us)

    def _to_sender(self, data: bytes) -> None:
        for message in parse_rtcp(data):
            if isinstance(message, TransportFeedback):
                self.sender.path.handle_feedback(message, now_us=self.now_us)
            self.sender.handle_rtcp(message, now_us=self.now_us)
