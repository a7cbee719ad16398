"""A sender made by hand: packets of frames with descriptors, marks and FEC, and a viewer that receives them."""

from __future__ import annotations

import json
import random
from dataclasses import replace

from codecpilot.codecs.types import Codec, Picture
from codecpilot.rtc.drain import drain_receiver
from codecpilot.rtc.messages import (
    FlexfecStream,
    NegotiatedCodec,
    ReceivedFrame,
    RedPayloadTypes,
)
from codecpilot.rtc.receiver import ReceiverCore, ReceiverSettings
from codecpilot.rtc.resilience.settings import ResilienceSettings
from codecpilot.rtc.rtp.av1_payload import packetize_av1
from codecpilot.rtc.rtp.dependency_descriptor import DependencyDescriptorWriter
from codecpilot.rtc.rtp.extensions import (
    ABS_SEND_TIME,
    DEPENDENCY_DESCRIPTOR,
    LTR,
    LTR_ACK,
    TRANSPORT_CC,
    ExtensionMap,
    HeaderExtensions,
    LtrMark,
)
from codecpilot.rtc.rtp.fec import protect
from codecpilot.rtc.rtp.flexfec import serialize_flexfec
from codecpilot.rtc.rtp.packet import RtpPacket, parse_rtp, wrap_rtx
from codecpilot.rtc.rtp.red import wrap_red
from codecpilot.rtc.rtp.rtcp import RtcpMessage, parse_rtcp
from codecpilot.rtc.rtp.ulpfec import serialize_ulpfec

from tests.rtc.fakes import DECODE_US, FRAME_US, FakeDecoder, av1_unit

AV1, RTX, FLEXFEC, RED, ULPFEC, RED_RTX = 45, 46, 122, 120, 121, 119
SSRC, RTX_SSRC, FEC_SSRC = 1111, 2222, 4444
EXTENSIONS = ExtensionMap(
    {ABS_SEND_TIME: 3, DEPENDENCY_DESCRIPTOR: 4, TRANSPORT_CC: 6, LTR: 7, LTR_ACK: 8}
)
FLEXFEC_STREAM = FlexfecStream(payload_type=FLEXFEC, ssrc=FEC_SSRC)
RED_TYPES = RedPayloadTypes(red=RED, ulpfec=ULPFEC, rtx=RED_RTX)


class Stream:
    """Numbers packets in the order in which frames are made; every packet's stamps differ."""

    def __init__(self, *, first_sequence: int = 65_500) -> None:
        self.sequence = first_sequence
        self._fec_sequence = 9
        self._stamp = 0
        self._descriptors = DependencyDescriptorWriter()
        self._last_base = 0

    def frame(
        self,
        frame_id: int,
        *,
        needs: int | None = None,
        temporal_id: int = 0,
        packets: int = 1,
        ltr: bool = False,
        recovery: bool = False,
        ack: int | None = None,
        mark_id: int | None = None,
    ) -> list[bytes]:
        """A frame that needs another; a key frame when it needs none. Keys and LTRs are marked as LTR."""
        key = needs is None
        mark = None
        if key or ltr or recovery:
            shown = frame_id if mark_id is None else mark_id
            mark = LtrMark(is_ltr=key or ltr, is_recovery=recovery, frame_id=shown & 0xFFFF)
        chain = 0 if key else frame_id - (needs if recovery else self._last_base)
        if temporal_id == 0:
            self._last_base = frame_id
        out = []
        for index, payload in enumerate(_payloads(frame_id, needs, packets)):
            first, last = index == 0, index == packets - 1
            descriptor = self._descriptors.write(
                frame_number=frame_id & 0xFFFF,
                first=first,
                last=last,
                key=key,
                temporal_id=temporal_id,
                fdiffs=() if key else (frame_id - needs,),
                chain_fdiff=chain,
                attach_structure=key and first,
            )
            values = HeaderExtensions(
                dependency_descriptor=descriptor,
                ltr=mark if first else None,
                ltr_ack=ack if first else None,
            )
            out.append(self.packet(payload, frame_id=frame_id, marker=last, values=values))
        return out

    def packet(
        self,
        payload: bytes,
        *,
        frame_id: int,
        marker: bool,
        values: HeaderExtensions,
        payload_type: int = AV1,
    ) -> bytes:
        """One packet of the media stream, with the next number."""
        sequence, self.sequence = self.sequence, (self.sequence + 1) & 0xFFFF
        return RtpPacket(
            payload_type,
            marker,
            sequence,
            frame_id * 3000 & 0xFFFFFFFF,
            SSRC,
            payload,
            extensions=EXTENSIONS.pack(self._stamped(values)),
        ).serialize()

    def flexfec(self, packets: list[bytes], *, parity: bytes | None = None) -> bytes:
        """FlexFEC over packets; parity replaces theirs with a lie."""
        fec = protect(packets, stamp_ids=EXTENSIONS.stamp_ids)
        if parity is not None:
            fec = replace(fec, parity=parity)
        return self.flexfec_packet(serialize_flexfec(fec))

    def flexfec_packet(self, payload: bytes) -> bytes:
        """Any payload as a packet of the FlexFEC stream."""
        self._fec_sequence += 1
        values = EXTENSIONS.pack(self._stamped(HeaderExtensions()))
        return RtpPacket(
            FLEXFEC, False, self._fec_sequence & 0xFFFF, 0, FEC_SSRC, payload, extensions=values
        ).serialize()

    def ulpfec(self, packets: list[bytes]) -> bytes:
        """ULPFEC over packets as they are before RED, in RED, with the next number of the media."""
        block = serialize_ulpfec(protect(packets, stamp_ids=EXTENSIONS.stamp_ids))
        data = self.packet(
            block, frame_id=0, marker=False, values=HeaderExtensions(), payload_type=ULPFEC
        )
        return in_red(data)

    def _stamped(self, values: HeaderExtensions) -> HeaderExtensions:
        self._stamp += 1
        return replace(
            values, abs_send_time=self._stamp * 77, transport_sequence_number=self._stamp
        )


class Viewer:
    """A receiver core in virtual time with a decoder that checks dependencies; keeps what was answered."""

    def __init__(
        self,
        *,
        flexfec: bool = True,
        red: bool = False,
        resilience: ResilienceSettings | None = None,
        rtt_us: int = 100_000,
    ) -> None:
        self.core = ReceiverCore(
            settings=ReceiverSettings(
                ssrc=3333,
                codecs=(NegotiatedCodec(codec=Codec.AV1, payload_type=AV1, rtx_payload_type=RTX),),
                extensions=EXTENSIONS,
                remote_ssrc=SSRC,
                flexfec=FLEXFEC_STREAM if flexfec else None,
                red=RED_TYPES if red else None,
                resilience=resilience or ResilienceSettings(),
            ),
            rng=random.Random(1),
            now_us=0,
        )
        self.core.set_rtt(rtt_us)
        self.counters = self.core.counters
        self.decoder = FakeDecoder()
        self.now_us = 1_000_000
        self.answers: list[tuple[int, RtcpMessage]] = []
        self.fails: set[int] = set()

    @property
    def decoded(self) -> list[int]:
        return self.decoder.decoded

    def take(self, *datagrams: bytes) -> None:
        """Datagrams that arrive now."""
        for data in datagrams:
            self.core.handle_rtp(data, now_us=self.now_us)
            self._drain()

    def wait(self, elapsed_us: int = FRAME_US) -> None:
        """Let time pass, with the timers that the core asks for."""
        end_us = self.now_us + elapsed_us
        while (due_us := self.core.poll_timeout()) is not None and due_us <= end_us:
            self.now_us = max(self.now_us, due_us)
            before = len(self.answers)
            self._drain()
            again_us = self.core.poll_timeout()
            assert again_us is None or again_us > self.now_us or len(self.answers) > before
        self.now_us = end_us
        self._drain()

    def answered(self, kind: type[RtcpMessage]) -> list[tuple[int, RtcpMessage]]:
        """Answers of one kind, with their times."""
        return [(time_us, m) for time_us, m in self.answers if isinstance(m, kind)]

    def _drain(self) -> None:
        while True:
            output = drain_receiver(self.core, now_us=self.now_us)
            for data in output.rtcp:
                self.answers += [(self.now_us, m) for m in parse_rtcp(data)]
            if output.frame is None:
                return
            shown = self._decode(output.frame)
            self.core.handle_decoded(
                shown, failed=shown is None, decode_us=DECODE_US, now_us=self.now_us
            )

    def _decode(self, frame: ReceivedFrame) -> Picture | None:
        if frame.frame_id in self.fails:
            return None
        try:
            return self.decoder.decode(frame)
        except (ValueError, KeyError):
            return None  # garbage, where a test makes some


def in_red(data: bytes) -> bytes:
    """A packet as RED carries it."""
    return wrap_red(parse_rtp(data), payload_type=RED).serialize()


def again(data: bytes, *, number: int = 5, payload_type: int = RTX) -> bytes:
    """The retransmission of a packet."""
    return wrap_rtx(
        parse_rtp(data), payload_type=payload_type, ssrc=RTX_SSRC, sequence_number=number
    ).serialize()


def number_of(data: bytes) -> int:
    """A packet's sequence number."""
    return parse_rtp(data).sequence_number


def _payloads(frame_id: int, needs: int | None, packets: int) -> list[bytes]:
    """Up to 11 payloads, so sized that the packetizer makes as many as are asked for."""
    meta = json.dumps({"id": frame_id, "needs": [] if needs is None else [needs]}).encode()
    data = av1_unit(meta.ljust(110 * packets - 20, b" "), key=needs is None)
    payloads = packetize_av1(data, max_payload_bytes=120, new_sequence=needs is None)
    assert len(payloads) == packets
    return payloads
