"""The receiver's estimate of the path for senders that know no better (REMB), by aiortc's own estimator.

That estimator takes the scheduling of a busy machine for a path that fills, and then lowers the rate of a call on an
idle link. So what it says is checked against the queue: an estimate that falls while packets wait nowhere is not
passed on.
"""

from __future__ import annotations

from collections import deque

from aiortc.rate import RemoteBitrateEstimator

from ..rtp.extensions import ExtensionMap
from ..rtp.packet import RtpPacket
from ..rtp.rtcp import ReceiverEstimatedMaximumBitrate, serialize_rtcp
from ..rtp.unwrap import Unwrapper
from ..windowed_minimum import WindowedMinimum

# abs-send-time: 24 bits of 6.18 fixed point seconds.
_SEND_TIME_BITS = 24
_SEND_TIME_FRACTION_BITS = 18
# ours: the quickest packet of this window waited in no queue; longer ones mistake clock drift for a queue.
BASE_WINDOW_US = 10_000_000
# ours: some 150 ms of a call's packets. In a queue all of them wait; a machine that stalls for less delivers some of
# them at once.
QUEUE_PACKETS = 10
# ours: less than one frame's time; a path that fills passes it within a second.
QUEUE_US = 30_000


class RembSource:
    """Watches send times on the way in; says when a new estimate should be sent."""

    def __init__(self, *, ssrc: int, extensions: ExtensionMap) -> None:
        self._ssrc = ssrc
        self._extensions = extensions
        self._estimator = RemoteBitrateEstimator()
        self._queue = _QueueDelay()
        self._told_bps: int | None = None

    def packet(self, packet: RtpPacket, *, media_ssrc: int, arrival_us: int) -> bytes | None:
        """Take a packet whose extensions can be read; the RTCP packet that it calls for, if any."""
        sent = self._extensions.unpack(packet).abs_send_time
        if sent is None:
            return None
        queue_us = self._queue.packet(sent, arrival_us=arrival_us)
        estimate = self._estimator.add(
            abs_send_time=sent,
            arrival_time_ms=arrival_us // 1000,
            payload_size=len(packet.payload) + packet.padding_bytes,
            # aiortc lists every source it ever heard of, and a peer could name more than a REMB can.
            ssrc=0,
        )
        if estimate is None:
            return None
        bitrate_bps, _ = estimate
        before_bps = self._told_bps
        if before_bps is None:
            before_bps = self._estimator.incoming_bitrate.rate(arrival_us // 1000) or 0
        if bitrate_bps < before_bps and queue_us < QUEUE_US:
            return None
        self._told_bps = bitrate_bps
        message = ReceiverEstimatedMaximumBitrate(
            sender_ssrc=self._ssrc, bitrate_bps=bitrate_bps, ssrcs=(media_ssrc,)
        )
        return serialize_rtcp([message])


class _QueueDelay:
    """How long every packet waits on the way: the least of the last ones over the quickest."""

    def __init__(self) -> None:
        self._sent = Unwrapper(_SEND_TIME_BITS)
        self._base = WindowedMinimum(window_us=BASE_WINDOW_US)
        self._waits: deque[int] = deque(maxlen=QUEUE_PACKETS)

    def packet(self, abs_send_time: int, *, arrival_us: int) -> int:
        sent_us = self._sent.unwrap(abs_send_time) * 1_000_000 >> _SEND_TIME_FRACTION_BITS
        transit_us = arrival_us - sent_us
        self._waits.append(transit_us - self._base.add(transit_us, now_us=arrival_us))
        return min(self._waits)
