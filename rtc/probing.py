"""Which probe cluster is being sent."""

from __future__ import annotations

from collections import deque

from ..ratecontrol.bandwidth.messages import ProbeCluster

# ours: a cluster that found no media to begin with for so long was planned for another path (libwebrtc's
# kProbeClusterTimeout is 5 s).
TIMEOUT_US = 1_000_000
# ours: an estimator plans two at once at a start.
MAX_WAITING = 4


class Probing:
    """Clusters begin with the next packet of media, so that no probe is made of padding alone."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[ProbeCluster, int]] = deque(maxlen=MAX_WAITING)
        self._active: ProbeCluster | None = None
        self._packets = 0
        self._bytes = 0

    @property
    def rate_bps(self) -> int | None:
        """The rate of the cluster under way; None when there is none."""
        return self._active.rate_bps if self._active is not None else None

    def add(self, cluster: ProbeCluster, *, now_us: int) -> None:
        """Take a cluster to send."""
        self._waiting.append((cluster, now_us))

    def begin(self, *, now_us: int) -> bool:
        """Media leaves: a cluster that waits begins, if none is under way. Whether one did."""
        if self._active is not None or not self._waiting:
            return False
        self._next(now_us)
        return self._active is not None

    def sent(self, size_bytes: int, *, now_us: int) -> int | None:
        """Count a packet that leaves; the id of the cluster that it belongs to, if any."""
        cluster = self._active
        if cluster is None:
            return None
        self._packets += 1
        self._bytes += size_bytes
        if self._packets >= cluster.min_packets and self._bytes >= cluster.min_bytes:
            self._next(now_us)
        return cluster.probe_id

    def abandon(self) -> None:
        """End a cluster that nothing can fill."""
        self._active = None

    def _next(self, now_us: int) -> None:
        self._active, self._packets, self._bytes = None, 0, 0
        while self._waiting and self._active is None:
            cluster, since_us = self._waiting.popleft()
            if now_us - since_us <= TIMEOUT_US:
                self._active = cluster
