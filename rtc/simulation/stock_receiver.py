"""How stock aiortc 1.16 receives video, modelled from its rtcrtpreceiver.py and jitterbuffer.py.

A frame is complete when a packet of the next one follows it without a gap, so each waits for its
successor. A gap holds everything behind it until its packets come or the buffer's 512 are full: then
what is before is given up and a PLI is sent. A NACK goes out when a new gap shows, once, for all that
is missing. Decoding goes on from wherever frames come, smeared where references are missing;
whatever the decoder refuses makes a PLI.
"""

from __future__ import annotations

import random
from collections import deque

from ...codecs.nal import NalType
from ...codecs.types import Picture
from ..drain import ReceiverOutput
from ..messages import DecodedFrame, NegotiatedCodec, ReceivedFrame
from ..reception import Reception
from ..rtp.h264_payload import START_CODE, is_h264_key
from ..rtp.packet import RtpPacket, parse_rtp, unwrap_rtx
from ..rtp.rtcp import (
    Nack,
    PictureLossIndication,
    ReceiverReport,
    RtcpMessage,
    SenderReport,
    serialize_rtcp,
)
from ..rtp.unwrap import Unwrapper
from ..stats import InboundCounters
from .ends import Estimator, SendingEnd

# RTCRtpReceiver.__init__: JitterBuffer(capacity=512, is_video=True); jitterbuffer.py MAX_MISORDER.
CAPACITY_PACKETS = 512
MAX_MISORDER = 100
# aiortc rtp.py RTP_HISTORY_SIZE: how far back NackGenerator looks.
NACK_WINDOW = 128


class JitterBuffer:
    """aiortc's JitterBuffer without prefetch, on unwrapped sequence numbers."""

    def __init__(self) -> None:
        self._packets: dict[int, RtpPacket] = {}
        self._origin: int | None = None

    def add(self, sequence: int, packet: RtpPacket) -> tuple[bool, list[tuple[int, RtpPacket]]]:
        """Take a packet; whether to send a PLI, and the packets of a frame that is now complete."""
        overflow = False
        if self._origin is None or sequence <= self._origin - MAX_MISORDER:
            overflow = self._origin is not None
            self._packets.clear()
            self._origin = sequence
        elif sequence < self._origin:
            return False, []
        if sequence - self._origin >= CAPACITY_PACKETS:
            self._make_room(sequence)
            overflow = True
        self._packets[sequence] = packet
        return overflow, self._take_frame()

    def _make_room(self, sequence: int) -> None:
        """Give up whole frames, and the gaps between, until the packet fits."""
        assert self._origin is not None
        first_kept = sequence - CAPACITY_PACKETS + 1
        timestamp = None
        end = self._origin + CAPACITY_PACKETS
        while self._origin < end:
            packet = self._packets.get(self._origin)
            if packet is not None:
                if self._origin >= first_kept and packet.timestamp != timestamp:
                    return
                timestamp = packet.timestamp
                del self._packets[self._origin]
            self._origin += 1
        self._packets.clear()
        self._origin = sequence

    def _take_frame(self) -> list[tuple[int, RtpPacket]]:
        assert self._origin is not None
        sequence = self._origin
        frame: list[tuple[int, RtpPacket]] = []
        while (packet := self._packets.get(sequence)) is not None:
            if frame and packet.timestamp != frame[0][1].timestamp:
                for number, _ in frame:
                    del self._packets[number]
                self._origin = sequence
                return frame
            frame.append((sequence, packet))
            sequence += 1
        return []


class StockReceiver:
    """See the module. A ReceivingEnd."""

    def __init__(
        self,
        *,
        ssrc: int,
        remote_ssrc: int,
        codec: NegotiatedCodec,
        estimator: Estimator | None,
        rng: random.Random,
        now_us: int,
    ) -> None:
        self.counters = InboundCounters()
        self._ssrc, self._remote_ssrc = ssrc, remote_ssrc
        self._codec = codec
        self._estimator = estimator
        self._rng = rng
        self._reception = Reception(ssrc=remote_ssrc)
        self._sequences, self._timestamps = Unwrapper(16), Unwrapper(32)
        self._buffer = JitterBuffer()
        self._highest: int | None = None
        self._missing: set[int] = set()
        self._frames: deque[ReceivedFrame] = deque()
        self._decoding: ReceivedFrame | None = None
        self._failed = False
        self._rtcp: list[bytes] = []
        self._next_report_us = self._report_time(now_us)

    def exchange(self, sender: SendingEnd, *, now_us: int) -> None:
        """See ReceivingEnd; aiortc's receiver makes no use of it."""

    def handle_rtp(self, data: bytes, *, now_us: int) -> None:
        """See ReceivingEnd."""
        packet = parse_rtp(data)
        if self._estimator is not None:
            estimate = self._estimator.packet(
                packet, media_ssrc=self._remote_ssrc, arrival_us=now_us
            )
            self._rtcp += [estimate] if estimate is not None else []
        original = self._original(packet, now_us=now_us)
        if original is not None:
            self._take(original, now_us=now_us)

    def handle_rtcp(self, message: RtcpMessage, *, now_us: int) -> None:
        """See ReceivingEnd."""
        if isinstance(message, SenderReport) and message.ssrc == self._remote_ssrc:
            self._reception.sender_report(ntp_timestamp=message.ntp_timestamp, now_us=now_us)

    def drain(self, *, now_us: int) -> ReceiverOutput:
        """See ReceivingEnd."""
        frame = None
        if self._frames and self._decoding is None:
            frame = self._decoding = self._frames.popleft()
        if now_us >= self._next_report_us:
            self._next_report_us = self._report_time(now_us)
            if self._highest is not None:
                reports = (self._reception.report(now_us=now_us),)
                self._rtcp.append(
                    serialize_rtcp([ReceiverReport(ssrc=self._ssrc, reports=reports)])
                )
        rtcp, self._rtcp = self._rtcp, []
        return ReceiverOutput(frame=frame, rtcp=rtcp, wake_us=self._next_report_us)

    def handle_decoded(
        self, picture: Picture | None, *, failed: bool, decode_us: int, now_us: int
    ) -> DecodedFrame | None:
        """See ReceivingEnd."""
        frame, self._decoding = self._decoding, None
        self._failed |= failed
        if frame is None or picture is None:
            return None
        self.counters.framesDecoded += 1
        return DecodedFrame(
            frame_id=frame.frame_id,
            codec=frame.codec,
            key=frame.key,
            width=picture.width,
            height=picture.height,
            decode_us=decode_us,
            capture_wall_us=None,
            decoded_us=now_us,
        )

    def handle_probed(self, decode_us: int, *, now_us: int) -> None:
        """See ReceivingEnd: nothing is ever probed."""

    def _original(self, packet: RtpPacket, *, now_us: int) -> RtpPacket | None:
        if packet.payload_type == self._codec.rtx_payload_type:
            return unwrap_rtx(packet, payload_type=self._codec.payload_type, ssrc=self._remote_ssrc)
        if packet.payload_type != self._codec.payload_type:
            return None
        self.counters.packetsReceived += 1
        self._reception.packet(
            sequence=self._sequences.unwrap(packet.sequence_number),
            timestamp=self._timestamps.unwrap(packet.timestamp),
            now_us=now_us,
        )
        return packet

    def _take(self, packet: RtpPacket, *, now_us: int) -> None:
        sequence = self._sequences.unwrap(packet.sequence_number)
        self._find_gaps(sequence)
        overflow, packets = self._buffer.add(sequence, packet)
        if overflow or self._failed:
            self._failed = False
            self.counters.pliCount += 1
            pli = PictureLossIndication(sender_ssrc=self._ssrc, media_ssrc=self._remote_ssrc)
            self._rtcp.append(serialize_rtcp([pli]))
        if packets:
            self._assemble(packets, now_us=now_us)

    def _find_gaps(self, sequence: int) -> None:
        if self._highest is None:
            self._highest = sequence
        if sequence <= self._highest:
            self._missing.discard(sequence)
            return
        gap = range(self._highest + 1, sequence)
        self._highest = sequence
        self._missing.update(gap)
        self._missing = {n for n in self._missing if n >= sequence - NACK_WINDOW}
        if gap:
            self.counters.nackCount += 1
            lost = tuple(n & 0xFFFF for n in sorted(self._missing))
            nack = Nack(sender_ssrc=self._ssrc, media_ssrc=self._remote_ssrc, lost=lost)
            self._rtcp.append(serialize_rtcp([nack]))

    def _assemble(self, packets: list[tuple[int, RtpPacket]], *, now_us: int) -> None:
        payloads = [packet.payload for _, packet in packets]
        self._frames.append(
            ReceivedFrame(
                data=b"".join(_depayloaded(payload) for payload in payloads),
                codec=self._codec.codec,
                key=any(is_h264_key(payload) for payload in payloads),
                frame_id=packets[0][0],
                temporal_id=0,
                dependencies=None,
                first_sequence=packets[0][0],
                last_sequence=packets[-1][0],
                rtp_timestamp=packets[0][1].timestamp,
                capture_wall_us=None,
                first_us=now_us,
                complete_us=now_us,
            )
        )

    def _report_time(self, now_us: int) -> int:
        # _run_rtcp: half a second to one and a half, at random.
        return now_us + int(1_000_000 * (0.5 + self._rng.random()))


def _depayloaded(payload: bytes) -> bytes:
    """As H264PayloadDescriptor.parse: a fragment whose beginning was given up stands without a header."""
    if len(payload) < 2:
        return b""
    kind = payload[0] & 0x1F
    if kind == NalType.FU_A:
        header = START_CODE + bytes((payload[0] & 0xE0 | payload[1] & 0x1F,))
        return (header if payload[1] & 0x80 else b"") + payload[2:]
    if kind != NalType.STAP_A:
        return START_CODE + payload
    units, offset = [], 1
    while offset + 2 <= len(payload):
        end = offset + 2 + int.from_bytes(payload[offset : offset + 2], "big")
        units.append(START_CODE + payload[offset + 2 : end])
        offset = end
    return b"".join(units)
