"""A packet on its way through a path's pacer, and what the path asks of the stream that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..ratecontrol.bandwidth.messages import Feedback
from ..ratecontrol.pacer import PacketKind
from .rtp.packet import RtpPacket


class PacketSource(Protocol):
    """A stream as its path sees it."""

    @property
    def ssrc(self) -> int:
        """The media stream's SSRC."""
        ...

    @property
    def in_feedback(self) -> bool:
        """Whether its packets carry a transport-wide sequence number."""
        ...

    def release(
        self,
        packet: OutgoingPacket,
        *,
        abs_send_time: int,
        transport_number: int | None,
        now_us: int,
    ) -> RtpPacket:
        """The packet as it leaves now, with its number and its time of sending.

        transport_number is the path's, unwrapped; None without transport-wide feedback.
        """
        ...

    def take_fec(self) -> list[OutgoingPacket]:
        """FEC packets for what was released, to be sent next."""
        ...

    def handle_feedback(self, feedback: Feedback) -> None:
        """Take what feedback says of the path's packets, its own among them."""
        ...

    def expire(self, packets: Sequence[OutgoingPacket]) -> None:
        """Take back whole frames that waited too long to be sent."""
        ...

    def padding(self, *, now_us: int) -> OutgoingPacket | None:
        """A packet that the receiver needs least harm from, to fill a probe; None without RTX."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingPacket:
    """A packet whose numbers and times of sending are set when it leaves.

    size_bytes is that of the whole datagram; frame_id, temporal_id and key are those of its frame, and key
    tells that the frame needs nothing of what waits before it: a key frame, or one that goes on from a
    long-term reference. index counts the packets of a frame. repeats is the sequence number of what is
    sent again; fec_id names a FEC packet to the stream.
    """

    source: PacketSource
    packet: RtpPacket
    kind: PacketKind
    frame_id: int
    key: bool
    size_bytes: int
    enqueued_us: int
    temporal_id: int = 0
    index: int = 0
    repeats: int | None = None
    fec_id: int | None = None

    @property
    def stream(self) -> int:
        """The SSRC of its media stream."""
        return self.source.ssrc

    @property
    def is_read(self) -> bool:
        """Whether frames behind its own may need it."""
        return self.temporal_id == 0
