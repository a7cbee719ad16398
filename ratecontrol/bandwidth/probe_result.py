"""The rate that a probe cluster reached.

Source: libwebrtc, ProbeBitrateEstimator. Ours: never more than the cluster was to probe, since what
left in one burst says nothing of a higher rate, and the last few clusters alone are known.
"""

from __future__ import annotations

from dataclasses import dataclass

from .messages import ProbeCluster, SentPacket


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResultSettings:
    """When a cluster tells something, and what."""

    # libwebrtc kMinReceivedProbesRatio, kMinReceivedBytesRatio, in percent.
    received_percent: int = 80
    # libwebrtc kMaxValidRatio: arrived so much faster than sent, it waited in a buffer together.
    compressed_ratio: float = 2.0
    # libwebrtc kMinRatioForUnsaturatedLink, kTargetUtilizationFraction: arrived slower than it was
    # sent, the link was full, and a little less than what arrived is to be used.
    saturated_ratio: float = 0.9
    saturated_use_ratio: float = 0.95
    # libwebrtc kMaxProbeInterval: a cluster spread over more time is none.
    interval_us: int = 1_000_000
    # Ours: more are never on their way together (two at the start of a call).
    clusters: int = 8


@dataclass(slots=True)
class _Arrivals:
    """What arrived of a cluster: first and last of both times, with the sizes that border them."""

    cluster: ProbeCluster
    packets: int = 0
    size_bytes: int = 0
    first_sent_us: int = 0
    last_sent_us: int = 0
    last_sent_bytes: int = 0
    first_arrival_us: int = 0
    first_arrival_bytes: int = 0
    last_arrival_us: int = 0


class ProbeResults:
    """Follows clusters on their way. One for each path."""

    def __init__(self, settings: ProbeResultSettings | None = None) -> None:
        self._settings = settings or ProbeResultSettings()
        self._clusters: dict[int, _Arrivals] = {}

    def expect(self, cluster: ProbeCluster) -> None:
        """A cluster is about to leave."""
        self._clusters[cluster.probe_id] = _Arrivals(cluster)
        while len(self._clusters) > self._settings.clusters:
            del self._clusters[next(iter(self._clusters))]

    def handle_arrival(self, packet: SentPacket, *, arrival_us: int) -> int | None:
        """Take a packet; returns the rate its cluster reached, in bit/s, once that can be told."""
        if packet.probe_id is None or packet.probe_id not in self._clusters:
            return None
        arrivals = self._clusters[packet.probe_id]
        _add(arrivals, packet.size_bytes, sent_us=packet.sent_us, arrival_us=arrival_us)
        return self._judge(arrivals)

    def _judge(self, arrivals: _Arrivals) -> int | None:
        settings = self._settings
        cluster = arrivals.cluster
        enough = settings.received_percent
        if arrivals.packets * 100 < cluster.min_packets * enough:
            return None
        if arrivals.size_bytes * 100 < cluster.min_bytes * enough:
            return None
        send_us = arrivals.last_sent_us - arrivals.first_sent_us
        receive_us = arrivals.last_arrival_us - arrivals.first_arrival_us
        if not (0 < send_us <= settings.interval_us and 0 < receive_us <= settings.interval_us):
            return None
        send_bps = (arrivals.size_bytes - arrivals.last_sent_bytes) * 8_000_000 / send_us
        receive_bps = (arrivals.size_bytes - arrivals.first_arrival_bytes) * 8_000_000 / receive_us
        if receive_bps > settings.compressed_ratio * send_bps:
            return None
        rate_bps = min(send_bps, receive_bps)
        if receive_bps < settings.saturated_ratio * send_bps:
            rate_bps = settings.saturated_use_ratio * receive_bps
        return min(round(rate_bps), cluster.rate_bps)


def _add(arrivals: _Arrivals, size_bytes: int, *, sent_us: int, arrival_us: int) -> None:
    first = arrivals.packets == 0
    if first or sent_us < arrivals.first_sent_us:
        arrivals.first_sent_us = sent_us
    if first or sent_us >= arrivals.last_sent_us:
        arrivals.last_sent_us, arrivals.last_sent_bytes = sent_us, size_bytes
    if first or arrival_us < arrivals.first_arrival_us:
        arrivals.first_arrival_us, arrivals.first_arrival_bytes = arrival_us, size_bytes
    if first or arrival_us > arrivals.last_arrival_us:
        arrivals.last_arrival_us = arrival_us
    arrivals.packets += 1
    arrivals.size_bytes += size_bytes
