"""How much a path loses of a stream and in what bursts, by transport-wide feedback or receiver reports."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

# ours: fine enough that a window of a second forgets by steps of a fifth.
BUCKET_US = 200_000
# ours: bursts are rare, so their mean length is taken over the longest window.
KEEP_US = 10_000_000
# ours: a receiver report tells of one to five seconds, and is believed as long.
REPORT_US = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What was lost: the part of the recent packets, of those of ten seconds, and the mean burst.

    burst_packets is 1.0 where losses come alone, or none came.
    """

    recent_ratio: float = 0.0
    lasting_ratio: float = 0.0
    burst_packets: float = 1.0

    @property
    def ratio(self) -> float:
        """What to be prepared for: the worse of the two."""
        return max(self.recent_ratio, self.lasting_ratio)


@dataclass(slots=True)
class _Bucket:
    begin_us: int
    total: int = 0
    lost: int = 0
    bursts: int = 0


class LossMonitor:
    """Counts the packets of one stream in the order of sending; memory is bounded by the window."""

    def __init__(self) -> None:
        self._buckets: deque[_Bucket] = deque()
        self._last_lost: int | None = None
        self._report_ratio = 0.0
        self._report_us: int | None = None

    def arrived(self, *, was_missing: bool, now_us: int) -> None:
        """A packet is reported as arrived; was_missing takes its loss back."""
        bucket = self._bucket(now_us)
        if was_missing:
            bucket.lost -= 1
        else:
            bucket.total += 1

    def lost(self, number: int, *, now_us: int) -> None:
        """A packet is reported missing; number counts the path's packets."""
        bucket = self._bucket(now_us)
        bucket.total += 1
        bucket.lost += 1
        bucket.bursts += self._last_lost is None or number != self._last_lost + 1
        self._last_lost = number

    def reported(self, ratio: float, *, now_us: int) -> None:
        """A receiver report tells a ratio: what counts where no packet is told of singly."""
        self._report_ratio, self._report_us = ratio, now_us

    def loss(self, *, now_us: int, recent_us: int) -> Loss:
        """The figures of now; recent_us is what counts as recent."""
        self._prune(now_us)
        if not self._buckets:
            is_known = self._report_us is not None and now_us - self._report_us <= REPORT_US
            ratio = self._report_ratio if is_known else 0.0
            return Loss(recent_ratio=ratio, lasting_ratio=ratio)
        lost = sum(bucket.lost for bucket in self._buckets)
        bursts = sum(bucket.bursts for bucket in self._buckets)
        recent = [b for b in self._buckets if now_us - b.begin_us <= recent_us]
        return Loss(
            recent_ratio=_ratio(recent),
            lasting_ratio=_ratio(self._buckets),
            burst_packets=max(1.0, lost / bursts) if bursts > 0 else 1.0,
        )

    def _bucket(self, now_us: int) -> _Bucket:
        if not self._buckets or now_us - self._buckets[-1].begin_us >= BUCKET_US:
            self._buckets.append(_Bucket(now_us))
            self._prune(now_us)
        return self._buckets[-1]

    def _prune(self, now_us: int) -> None:
        while self._buckets and now_us - self._buckets[0].begin_us > KEEP_US:
            self._buckets.popleft()


def _ratio(buckets: deque[_Bucket] | list[_Bucket]) -> float:
    total = sum(bucket.total for bucket in buckets)
    lost = sum(bucket.lost for bucket in buckets)
    return min(max(lost / total, 0.0), 1.0) if total else 0.0
