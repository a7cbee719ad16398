"""What passes between a path and its estimators.

Sizes are those of whole datagrams, IP, UDP and SRTP included; numbers are transport-wide sequence
numbers, unwrapped; sent_us is on our clock, arrival_us on the receiver's, whose offset is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SentPacket:
    """A packet on its way; probe_id names the probe cluster that it belongs to, if any."""

    number: int
    sent_us: int
    size_bytes: int
    probe_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketResult:
    """What feedback says of a packet; arrival_us is None where it is reported missing.

    A packet reported missing may be reported once more, as arrived; one that arrived may not.
    """

    packet: SentPacket
    arrival_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One feedback packet, checked against what was sent; results in order of sending."""

    now_us: int
    results: tuple[PacketResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeCluster:
    """A short burst to send at a rate above the estimate, of media as far as there is any."""

    probe_id: int
    rate_bps: int
    min_packets: int
    min_bytes: int


class BandwidthEstimator(Protocol):
    """Follows one path. After each call the figures below are those in force."""

    @property
    def target_bps(self) -> int:
        """What all packets together may take, retransmissions and headers included."""
        ...

    @property
    def pacing_bps(self) -> int:
        """How fast packets that wait may leave."""
        ...

    def set_demand(self, demand_bps: int, *, now_us: int) -> None:
        """Tell what the sources together would send at most, headers included."""
        ...

    def handle_rtt(self, rtt_us: int, *, now_us: int) -> None:
        """Take a round-trip time that RTCP measured."""
        ...

    def handle_sent(self, packet: SentPacket) -> None:
        """Take a packet that leaves."""
        ...

    def handle_feedback(self, feedback: Feedback) -> None:
        """Take feedback."""
        ...

    def poll(self, *, now_us: int) -> None:
        """Take the passing of time: feedback that stays away, intervals that end."""
        ...

    def opens_us(self, *, now_us: int) -> int | None:
        """When a new frame is worth encoding for the path; None for now. Feedback may make it sooner."""
        ...

    def poll_probe(self, *, now_us: int) -> ProbeCluster | None:
        """A probe cluster to send now, once."""
        ...

    def poll_timeout(self) -> int | None:
        """When poll() or poll_probe() has something to do if nothing else happens."""
        ...
