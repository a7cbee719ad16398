"""The sending side of one path, sans-I/O: all its streams' packets through one pacer, one estimate of its rate.

Whoever owns the transport owns the path, hands it transport feedback, and drains it after each call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..codecs.errors import LocalError
from ..ratecontrol.bandwidth.messages import BandwidthEstimator
from ..ratecontrol.pacer import MAX_WAIT_US, Pacer, PacketKind
from .encoder_share import EncoderShare
from .outgoing_packet import OutgoingPacket, PacketSource
from .probing import Probing
from .rtp.extensions import abs_send_time
from .rtp.packet import RtpPacket
from .rtp.rtcp_transport_feedback import TransportFeedback
from .stats import PathCounters
from .transport_history import FeedbackCounters, TransportHistory

# ours: where no feedback tells what the path carries, frames leave in two thirds of their time.
UNGUIDED_PACING = (3, 2)
# libwebrtc kCongestionControllerMinBitrate: slower than this a packet takes two seconds.
MIN_PACING_BPS = 5_000
# A full packet and what is around it: a repair of any size has a way through.
MIN_REPAIR_BYTES = 1_250
# ours: a stream that sent no media for so long leaves its share to the others.
IDLE_US = 1_000_000


@dataclass(slots=True)
class _Demand:
    demand_bps: int
    media_us: int


class SendPath:
    """Paces the packets of the streams that share a transport, and splits its rate among them."""

    def __init__(self, *, estimator: BandwidthEstimator | None, wall_offset_us: int) -> None:
        """Without an estimator it only paces, at a rate that follows demand.

        wall_offset_us is the wall clock (since 1900, as NTP counts) less the now_us clock.
        """
        self.counters = PathCounters()
        self._estimator = estimator
        self._wall_offset_us = wall_offset_us
        self._pacer: Pacer[OutgoingPacket] = Pacer(MIN_PACING_BPS)
        self._history = TransportHistory()
        self._share = EncoderShare()
        self._probing = Probing()
        self._demands: dict[int, _Demand] = {}
        self._sources: dict[int, PacketSource] = {}
        self._padding_source: PacketSource | None = None
        self._now_us = 0

    @property
    def available_outgoing_bps(self) -> int | None:
        """W3C availableOutgoingBitrate: the estimate without IP and UDP; None without estimator."""
        if self._estimator is None:
            return None
        transport_bps = self._share.transport_bps(now_us=self._now_us)
        return max(0, self._estimator.target_bps - transport_bps)

    @property
    def in_flight_bytes(self) -> int:
        """Datagrams sent that no feedback has spoken of yet."""
        return self._history.in_flight_bytes

    @property
    def feedback_counters(self) -> FeedbackCounters:
        """Feedback that came, and what of it was ignored."""
        return self._history.counters

    def set_demand(self, ssrc: int, demand_bps: int, *, now_us: int) -> None:
        """Let a stream join, or change the most that its encoder would use.

        Raises LocalError for a demand that is not above 0.
        """
        if demand_bps <= 0:
            raise LocalError(f"demand_bps must be 1 or more, got {demand_bps}")
        self._advance(now_us)
        known = self._demands.get(ssrc)
        media_us = known.media_us if known is not None else now_us
        self._demands[ssrc] = _Demand(demand_bps=demand_bps, media_us=media_us)
        self._tell_demand()

    def remove_stream(self, ssrc: int) -> None:
        """Forget a stream that has ended, and what waits of it."""
        self._demands.pop(ssrc, None)
        self._sources.pop(ssrc, None)
        self._pacer.remove_stream(ssrc)
        if self._padding_source is not None and self._padding_source.ssrc == ssrc:
            self._padding_source = None
        self._tell_demand()

    def share_bps(self, ssrc: int) -> int | None:
        """What a stream's encoder may use of the estimate; None without estimator.

        The rate is split in proportion to demand; streams that send nothing leave theirs to the others.
        """
        if self._estimator is None or ssrc not in self._demands:
            return None
        total_bps = self._total_demand_bps
        all_bps = self._share.bps(
            self._estimator.target_bps,
            demand_bps=total_bps,
            queued_bytes=self._pacer.queued_bytes,
            now_us=self._now_us,
        )
        mine = self._demands[ssrc]
        others_bps = sum(
            other.demand_bps
            for other in self._demands.values()
            if other is not mine and self._now_us - other.media_us <= IDLE_US
        )
        return all_bps * mine.demand_bps // (mine.demand_bps + others_bps)

    def wait_us(self, *, now_us: int) -> int:
        """How long a frame that came now would wait before it begins to leave."""
        self._advance(now_us)
        return self._pacer.wait_us(now_us=self._now_us)

    def opens_us(self, *, now_us: int) -> int | None:
        """When a new frame is worth encoding; None for now, since it would not wait too long."""
        excess_us = self.wait_us(now_us=now_us) - MAX_WAIT_US
        times_us = [] if excess_us <= 0 else [self._now_us + excess_us]
        if self._estimator is not None:
            opens_us = self._estimator.opens_us(now_us=self._now_us)
            times_us += [] if opens_us is None else [opens_us]
        return max(times_us, default=None)

    @property
    def bound_bytes(self) -> int:
        """What the path carries within the bound on the queue, at the rate of now."""
        return max(MIN_REPAIR_BYTES, self._pacer.rate_bps * MAX_WAIT_US // 8_000_000)

    def repair_bytes(self, *, now_us: int) -> int:
        """How much may be sent again now: what makes no frame late, and one packet where none waits."""
        self._advance(now_us)
        least_bytes = MIN_REPAIR_BYTES if self._pacer.is_empty else 0
        room_bytes = self._pacer.room_bytes(now_us=self._now_us)
        return max(least_bytes, room_bytes)

    def enqueue(self, packets: Iterable[OutgoingPacket], *, now_us: int) -> None:
        """Take packets to send, all those of a frame together."""
        self._advance(now_us)
        packets = list(packets)
        self._share.add(packets, now_us=self._now_us)
        self.counters.repairsExpired += len(self._pacer.enqueue(packets))
        for packet in packets:
            self._sources[packet.stream] = packet.source
            if packet.kind is PacketKind.MEDIA and packet.stream in self._demands:
                self._demands[packet.stream].media_us = self._now_us

    def poll_packets(self, *, now_us: int) -> list[RtpPacket]:
        """The packets that leave now, of all streams."""
        self._advance(now_us)
        self._poll_estimator()
        self._expire()
        packets = []
        while (packet := self._next()) is not None:
            packets.append(self._release(packet))
            if fec := packet.source.take_fec():
                self.enqueue(fec, now_us=self._now_us)
        return packets

    def poll_timeout(self) -> int | None:
        """When something is due if nothing else happens."""
        due = [] if self._estimator is None else [self._estimator.poll_timeout()]
        if not self._pacer.is_empty or self._probing.rate_bps is not None:
            due.append(self._pacer.free_us())
        return min((time_us for time_us in due if time_us is not None), default=None)

    def handle_feedback(self, message: TransportFeedback, *, now_us: int) -> None:
        """Take transport-wide feedback; what cannot be true of it is ignored and counted."""
        self._advance(now_us)
        if self._estimator is None:
            return
        feedback = self._history.handle_feedback(message, now_us=self._now_us)
        if feedback is not None:
            self._estimator.handle_feedback(feedback)
            self._pace()
            for source in self._sources.values():
                source.handle_feedback(feedback)

    def handle_rtt(self, rtt_us: int, *, now_us: int) -> None:
        """Take a round-trip time that a stream's reports measured."""
        self._advance(now_us)
        if self._estimator is not None:
            self._estimator.handle_rtt(rtt_us, now_us=self._now_us)
            self._pace()

    @property
    def _total_demand_bps(self) -> int:
        return sum(demand.demand_bps for demand in self._demands.values())

    def _pace(self) -> None:
        """Let packets leave as fast as is right now."""
        if self._estimator is None:
            more, less = UNGUIDED_PACING
            rate_bps = self._total_demand_bps * more // less
        else:
            rate_bps = self._probing.rate_bps or self._estimator.pacing_bps
        self._pacer.set_rate(max(rate_bps, MIN_PACING_BPS), now_us=self._now_us)

    def _advance(self, now_us: int) -> None:
        self._now_us = max(self._now_us, now_us)

    def _tell_demand(self) -> None:
        if self._estimator is not None:
            total_bps = self._total_demand_bps
            demand_bps = self._share.with_overhead(total_bps) if total_bps else 0
            self._estimator.set_demand(demand_bps, now_us=self._now_us)
        self._pace()

    def _poll_estimator(self) -> None:
        estimator = self._estimator
        if estimator is None:
            return
        due_us = estimator.poll_timeout()
        if due_us is not None and due_us <= self._now_us:
            estimator.poll(now_us=self._now_us)
        while (cluster := estimator.poll_probe(now_us=self._now_us)) is not None:
            self._probing.add(cluster, now_us=self._now_us)
        self._pace()

    def _expire(self) -> None:
        expired = self._pacer.expire(now_us=self._now_us)
        frames: dict[int, list[OutgoingPacket]] = {}
        for packet in expired:
            if packet.kind is PacketKind.MEDIA:
                frames.setdefault(packet.stream, []).append(packet)
            else:
                self.counters.repairsExpired += 1
        for packets in frames.values():
            packets[0].source.expire(packets)

    def _next(self) -> OutgoingPacket | None:
        packet = self._pacer.pop(now_us=self._now_us)
        if packet is not None:
            if packet.kind is PacketKind.MEDIA:
                self._begin_probe(packet.source)
            return packet
        if self._probing.rate_bps is None or not self._pacer.is_empty:
            return None
        if not self._pacer.may_send(now_us=self._now_us):
            return None
        return self._padding()

    def _begin_probe(self, source: PacketSource) -> None:
        if source.in_feedback:
            self._padding_source = source
            if self._probing.begin(now_us=self._now_us):
                self._pace()

    def _padding(self) -> OutgoingPacket | None:
        source = self._padding_source
        packet = source.padding(now_us=self._now_us) if source is not None else None
        if packet is None:
            self._probing.abandon()
            self._pace()
            return None
        self._pacer.charge(packet.size_bytes)
        return packet

    def _release(self, packet: OutgoingPacket) -> RtpPacket:
        size_bytes = packet.size_bytes
        if packet.kind is PacketKind.PADDING:
            self.counters.paddingPacketsSent += 1
            self.counters.paddingBytesSent += size_bytes
        number = None
        if self._estimator is not None and packet.source.in_feedback:
            probe_id = self._probing.sent(size_bytes, now_us=self._now_us)
            sent = self._history.add(size_bytes, probe_id=probe_id, now_us=self._now_us)
            self._estimator.handle_sent(sent)
            number = sent.number
            if probe_id is not None:
                self._pace()
        return packet.source.release(
            packet,
            abs_send_time=abs_send_time(self._now_us + self._wall_offset_us),
            transport_number=number,
            now_us=self._now_us,
        )
