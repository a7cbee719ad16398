"""A sender of paced frames, and what was seen of it.

Encoder, pacer and receiver are as simple as they can be, so that what is seen is the estimator's doing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from codecpilot.ratecontrol.bandwidth.messages import (
    BandwidthEstimator,
    Feedback,
    PacketResult,
    ProbeCluster,
    SentPacket,
)

from .network import SECOND_US, Network, Offered

FRAME_US = 33_333
PAYLOAD_BYTES = 1_120
HEADER_BYTES = 76
PADDING_BYTES = 300
SAMPLE_US = 10_000
# What the pacer of a path throws away, and how full a frame controller plans its bucket.
MAX_WAIT_US = 200_000
SOFT_US, KEY_US = 88_000, 145_000


@dataclass(frozen=True, slots=True)
class Sample:
    """What the estimator says at a time, and what a packet would wait."""

    now_us: int
    target_bps: int
    wait_us: int


@dataclass(slots=True)
class Seen:
    """What happened to one sender; times are given in seconds."""

    samples: list[Sample]
    sent: list[Offered]
    # Of each frame the numbers of its packets; one that the pacer threw away has None among them.
    frames: list[list[int | None]]

    def between(self, start_s: float, end_s: float) -> list[Sample]:
        return [s for s in self.samples if start_s <= s.now_us / SECOND_US < end_s]

    def mean_target(self, start_s: float, end_s: float) -> float:
        chosen = [sample.target_bps for sample in self.between(start_s, end_s)]
        return sum(chosen) / len(chosen)

    def longest_wait_us(self, start_s: float, end_s: float) -> int:
        """The longest queue that a packet would have met."""
        return max(sample.wait_us for sample in self.between(start_s, end_s))

    def sent_between(self, start_s: float, end_s: float) -> list[Offered]:
        return [p for p in self.sent if start_s <= p.sent_us / SECOND_US < end_s]

    def wait_us(self, start_s: float, end_s: float, *, share: float = 0.95) -> int:
        """What this share of the packets did not exceed in the queue."""
        waits_us = sorted(packet.wait_us for packet in self.sent_between(start_s, end_s))
        return waits_us[int(share * (len(waits_us) - 1))]

    def full_ratio(self, start_s: float, end_s: float) -> float:
        """Packets that the queue had no room for."""
        chosen = self.sent_between(start_s, end_s)
        return sum(packet.is_full for packet in chosen) / len(chosen)

    def arrived_bps(self, start_s: float, end_s: float) -> float:
        start_us, end_us = start_s * SECOND_US, end_s * SECOND_US
        arrived = (p for p in self.sent if p.arrival_us is not None)
        sizes = (p.size_bytes for p in arrived if start_us <= (p.arrival_us or 0) < end_us)
        return 8 * sum(sizes) / (end_s - start_s)

    def frozen_s(self, start_s: float, end_s: float, *, longer_us: int = 250_000) -> float:
        """The sum of all longer gaps between frames that arrived as a whole."""
        start_us, end_us = round(start_s * SECOND_US), round(end_s * SECOND_US)
        shown = [time_us for numbers in self.frames if (time_us := self._shown_us(numbers))]
        times = [start_us, *(time for time in shown if start_us <= time < end_us), end_us]
        return sum(b - a for a, b in pairwise(times) if b - a > longer_us) / SECOND_US

    def _shown_us(self, numbers: list[int | None]) -> int | None:
        arrivals = [None if n is None else self.sent[n].arrival_us for n in numbers]
        times = [time_us for time_us in arrivals if time_us is not None]
        # The last frame may still be in the pacer.
        return max(times, default=None) if len(times) == len(arrivals) else None


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A packet in the pacer."""

    size_bytes: int
    since_us: int
    numbers: list[int | None]


class Caller:
    """Frames are as large as the estimate allows, up to demand_bps; a key frame every key_every."""

    def __init__(
        self,
        network: Network,
        estimator: BandwidthEstimator,
        *,
        demand_bps: int = 2_500_000,
        start_s: float = 0,
        feedback_us: int = 50_000,
        key_every: int = 90,
        seed: int = 1,
    ) -> None:
        self.estimator = estimator
        self.seen = Seen(samples=[], sent=[], frames=[])
        # The receiver's clock; whether feedback that leaves at a time is lost; how late it is.
        self.clock: Callable[[int], int] = lambda now_us: now_us + 12_345_678
        self.is_deaf: Callable[[int], bool] = lambda now_us: False
        self.late_us: Callable[[int], int] = lambda now_us: 0
        self._network, self._random = network, Random(seed)
        self._demand_bps, self._feedback_us, self._key_every = demand_bps, feedback_us, key_every
        self._backlog_us = 0
        self._pending = self._pacing = False
        self._pacer: deque[_Waiting] = deque()
        self._probes: deque[ProbeCluster] = deque()
        self._probe_packets = self._probe_bytes = 0
        self._packets: list[SentPacket] = []
        self._reported = 0
        self._heard_us = 0
        network.at(round(start_s * SECOND_US), self._begin)

    def set_demand(self, demand_bps: int) -> None:
        self._demand_bps = demand_bps
        self.estimator.set_demand(demand_bps, now_us=self._network.now_us)

    def _begin(self) -> None:
        self.set_demand(self._demand_bps)
        self._sample()
        self._capture()
        self._report()

    def _sample(self) -> None:
        network = self._network
        network.at(network.now_us + SAMPLE_US, self._sample)
        self.estimator.poll(now_us=network.now_us)
        self._probe()
        sample = Sample(
            now_us=network.now_us,
            target_bps=self.estimator.target_bps,
            wait_us=network.link.wait_us(network.now_us),
        )
        self.seen.samples.append(sample)

    def _capture(self) -> None:
        self._network.at(self._network.now_us + FRAME_US, self._capture)
        self._backlog_us = max(0, self._backlog_us - FRAME_US)
        self._pending = True
        self._encode()

    def _encode(self) -> None:
        """Encode the newest picture, when the path is open for it."""
        now_us = self._network.now_us
        if not self._pending:
            return
        opens_us = self.estimator.opens_us(now_us=now_us)
        if opens_us is not None:
            assert opens_us > now_us
            self._network.at(opens_us, self._encode)
            return
        self._pending = False
        size_us = self._frame_us()
        self._backlog_us += size_us
        rate_bps = min(self.estimator.target_bps, self._demand_bps)
        size_bytes = max(rate_bps * size_us // (8 * SECOND_US) - HEADER_BYTES, 40)
        parts = -(-size_bytes // PAYLOAD_BYTES)
        numbers: list[int | None] = []
        self.seen.frames.append(numbers)
        packet = _Waiting(-(-size_bytes // parts) + HEADER_BYTES, now_us, numbers)
        self._pacer.extend([packet] * parts)
        if not self._pacing:
            self._pace()

    def _frame_us(self) -> int:
        """A frame's size as time at the target; ordinary frames spread by a quarter."""
        if len(self.seen.frames) % self._key_every == 0:
            return KEY_US
        usual_us = int(FRAME_US * self._random.uniform(0.75, 1.25))
        return min(usual_us, max(SOFT_US - self._backlog_us, FRAME_US // 8))

    def _pace(self) -> None:
        """Let a packet leave, and the next one when its time has passed."""
        network, pacer = self._network, self._pacer
        while pacer and network.now_us - pacer[0].since_us > MAX_WAIT_US:
            pacer.popleft().numbers.append(None)
        self._pacing = bool(pacer or self._probes)
        if not self._pacing:
            return
        cluster = self._probes[0] if self._probes else None
        rate_bps = self.estimator.pacing_bps if cluster is None else cluster.rate_bps
        probe_id = None if cluster is None else cluster.probe_id
        packet = pacer.popleft() if pacer else _Waiting(PADDING_BYTES, network.now_us, [])
        packet.numbers.append(self._send(packet.size_bytes, probe_id=probe_id))
        if cluster is not None:
            self._count_probe(cluster, packet.size_bytes)
        gap_us = packet.size_bytes * 8 * SECOND_US // rate_bps
        network.at(network.now_us + gap_us, self._pace)

    def _count_probe(self, cluster: ProbeCluster, size_bytes: int) -> None:
        """Go on to the next cluster when this one has all that it wants."""
        self._probe_packets += 1
        self._probe_bytes += size_bytes
        if self._probe_packets > cluster.min_packets and self._probe_bytes >= cluster.min_bytes:
            self._probes.popleft()
            self._probe_packets = self._probe_bytes = 0

    def _send(self, size_bytes: int, *, probe_id: int | None) -> int:
        number = len(self._packets)
        packet = SentPacket(
            number=number,
            sent_us=self._network.now_us,
            size_bytes=size_bytes,
            probe_id=probe_id,
        )
        self._packets.append(packet)
        self.seen.sent.append(self._network.offer(size_bytes))
        self.estimator.handle_sent(packet)
        return number

    def _probe(self) -> None:
        """Send the clusters that are due: media as far as there is any, then padding."""
        while (cluster := self.estimator.poll_probe(now_us=self._network.now_us)) is not None:
            self._probes.append(cluster)
        if self._probes and not self._pacing:
            self._pace()

    def _report(self) -> None:
        """What the receiver has seen since its last feedback sets out for the sender."""
        network, sent, first = self._network, self.seen.sent, self._reported
        network.at(network.now_us + self._feedback_us, self._report)
        for number in range(first, len(sent)):
            arrival_us = sent[number].arrival_us
            if arrival_us is not None and arrival_us <= network.now_us:
                self._reported = number + 1
        if self._reported == first or self.is_deaf(network.now_us):
            return
        results = tuple(
            PacketResult(packet=self._packets[n], arrival_us=self._told_us(sent[n]))
            for n in range(first, self._reported)
        )
        back_us = network.back_us + network.longer(network.now_us) + self.late_us(network.now_us)
        # Feedback does not overtake.
        self._heard_us = max(self._heard_us, network.now_us + back_us)
        network.at(self._heard_us, lambda: self._hear(results))

    def _told_us(self, packet: Offered) -> int | None:
        return None if packet.arrival_us is None else self.clock(packet.arrival_us)

    def _hear(self, results: tuple[PacketResult, ...]) -> None:
        feedback = Feedback(now_us=self._network.now_us, results=results)
        self.estimator.handle_feedback(feedback)
        self._probe()
        self._encode()
