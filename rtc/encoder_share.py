"""What of a path's rate is left for the encoders: less what headers and repairs take.

Headers and retransmissions are measured over about a second and subtracted as they are. That does not
oscillate: a bit/s more for the encoder adds at most 0.07 bit/s of headers (86 bytes on a packet of 1200), and
at a loss of p at most p/(1-p) of retransmissions. Both gains are below one, and the measurement moves without
steps; so each second's error is a fraction of the one before. Above a loss of one half the gain would pass one:
repairs are therefore counted up to half of the rate.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ratecontrol.pacer import PacketKind
from ..ratecontrol.rate_meter import RateMeter
from ..ratecontrol.vbv import VbvBuffer
from .datagram import IP_UDP_BYTES
from .outgoing_packet import OutgoingPacket

# ours: one packet a picture at 30 pictures a second, 82 bytes around each payload; until it is measured.
START_OVERHEAD_BPS = 30 * 82 * 8
# ours: 86 bytes around the payload of a full packet of 1200 bytes.
FULL_PACKET_SHARE = 14
# ours: a queue as long as one picture at 30 pictures a second is the pacer at work.
USUAL_QUEUE_US = 33_333
# ours: the excess is worked off over 15 pictures, so that the answer to a correction is seen in time.
CORRECTION_US = 500_000

_US_PER_S = 1_000_000


class EncoderShare:
    """Meters the packets as they come to the pacer, so that a burst counts before it has left."""

    def __init__(self) -> None:
        self._headers = RateMeter(start_bps=START_OVERHEAD_BPS)
        self._packets = RateMeter(start_bps=30)
        self._repairs = RateMeter()
        # What the frame controllers think is under way: their own backlog needs no second correction.
        self._backlog = VbvBuffer(1)

    def add(self, packets: Iterable[OutgoingPacket], *, now_us: int) -> None:
        """Count packets that come to the pacer."""
        count = header_bytes = media_bytes = repair_bytes = 0
        for packet in packets:
            count += 1
            if packet.kind is PacketKind.MEDIA:
                payload_bytes = len(packet.packet.payload)
                media_bytes += payload_bytes
                header_bytes += packet.size_bytes - payload_bytes
            else:
                repair_bytes += packet.size_bytes
        self._packets.add(count, now_us=now_us)
        self._headers.add(8 * header_bytes, now_us=now_us)
        self._backlog.add(8 * media_bytes, now_us=now_us)
        self._repairs.add(8 * repair_bytes, now_us=now_us)

    def with_overhead(self, demand_bps: int) -> int:
        """What encoders that make demand_bps send at most, headers included."""
        return demand_bps + demand_bps // FULL_PACKET_SHARE + START_OVERHEAD_BPS

    def transport_bps(self, *, now_us: int) -> int:
        """What IP and UDP take."""
        return 8 * IP_UDP_BYTES * self._packets.bps(now_us=now_us)

    def bps(self, estimate_bps: int, *, demand_bps: int, queued_bytes: int, now_us: int) -> int:
        """What all encoders together may use of an estimate; queued_bytes wait in the pacer.

        Repairs come out of the demand, even where the path has room: nobody who asks for repairs makes
        a stream send more than it was to.
        """
        repairs_bps = min(self._repairs.bps(now_us=now_us), estimate_bps // 2, demand_bps // 2)
        share_bps = min(estimate_bps - self._headers.bps(now_us=now_us), demand_bps) - repairs_bps
        self._backlog.set_target(max(1, min(share_bps, demand_bps)), now_us=now_us)
        usual_bits = estimate_bps * USUAL_QUEUE_US // _US_PER_S
        excess_bits = 8 * queued_bytes - self._backlog.backlog_bits(now_us) - usual_bits
        share_bps -= max(0, excess_bits) * _US_PER_S // CORRECTION_US
        return max(0, share_bps)
