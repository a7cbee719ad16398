"""The estimator that is made for an encoder which holds every frame inside a bound.

Frames that leave half as fast again as the estimate measure the capacity (capacity.py). The queue that
the next frame will meet is predicted from what is in flight (in_flight.py); the rate is the capacity
less what that queue has to lose, and while the queue is too long no frame is encoded at all: the next
picture is newer. Latency is then a choice, and not what a gradient notices later.
"""

from __future__ import annotations

from ...codecs.errors import LocalError
from .arrivals import Arrivals
from .capacity import Capacity
from .codesign_settings import CodesignSettings
from .competition import Competition
from .delivered import DeliveredRate
from .in_flight import InFlight
from .longer_path import LongerPath
from .loss_excess import LossExcess
from .messages import Feedback, ProbeCluster, SentPacket

# What the path may be taken to carry at most, against what was acknowledged in the last moments, so
# that no feedback drives the estimate away from it. A rate that doubles in a window is within it.
ACKNOWLEDGED_RATIO = 2.0
ACKNOWLEDGED_BPS = 10_000
# ours: more than the sources could use is not looked for, but by this much a pacer may be quicker.
DEMAND_RATIO = 1.5
# ours: below this part of the target the sources do not use it, and nothing is learned from silence.
APPLICATION_LIMITED_RATIO = 0.6
# ours: feedback further apart than this belongs to no interval that can be measured or integrated over.
LONGEST_STEP_US = 200_000
# ours: how fast the usual interval of feedback is followed, and what it is before it is known.
INTERVAL_GAIN = 0.1
# ours: feedback that varies so is usual, as for a retransmission timer (RFC 6298); a busy machine's does.
DEVIATIONS = 2
FIRST_INTERVAL_US = 25_000
# ours: a path that has never answered for so long is taken for one that carries little.
UNANSWERED_US = 1_000_000
UNANSWERED_BPS = 100_000
# ours: no pacer is slower than one packet in 300 ms.
MIN_PACING_BPS = 30_000


class CodesignEstimator:
    """Implements BandwidthEstimator. One for each path."""

    def __init__(
        self, settings: CodesignSettings | None = None, *, start_bps: int | None = None
    ) -> None:
        settings = settings or CodesignSettings()
        start_bps = settings.start_bps if start_bps is None else start_bps
        if start_bps < settings.min_bps:
            raise LocalError(f"start_bps is {settings.min_bps} or more, got {start_bps}")
        self._settings = settings
        self._capacity = Capacity(settings, start_bps=start_bps)
        self._arrivals = Arrivals(settings)
        self._in_flight = InFlight()
        self._competition = Competition()
        self._longer_path = LongerPath()
        self._losses = LossExcess(threshold_ratio=settings.excess_loss_ratio)
        self._delivered = DeliveredRate()
        self._demand_bps: int | None = None
        self._now_us = 0
        self._first_sent_us: int | None = None
        self._first_feedback_us: int | None = None
        self._feedback_us: int | None = None
        self._interval_us = float(FIRST_INTERVAL_US)
        self._interval_deviation_us = 0.0
        self._sent_bits = 0
        self._idle_us = 0
        self._drains_until_us = 0

    @property
    def target_bps(self) -> int:
        """The capacity less what the predicted queue has to lose."""
        settings, queue_us = self._settings, self._predicted_us(self._now_us)
        ratio = 1 + (settings.aimed_queue_us - queue_us) / settings.drain_us
        if self._now_us < self._drains_until_us:
            ratio = min(ratio, settings.drain_ratio)
        bps = settings.headroom_ratio * self._capacity.bps * max(settings.least_ratio, ratio)
        if self._competition.rate_bps is not None and not self._late_us(self._now_us):
            bps = max(bps, self._competition.rate_bps)
        if self._is_unanswered:
            bps = min(bps, UNANSWERED_BPS)
        return int(max(settings.min_bps, min(bps, self._most_bps)))

    @property
    def pacing_bps(self) -> int:
        """Faster than the target, so that frames measure the path; no slower than the path."""
        settings = self._settings
        if self._losses.is_excessive:
            return int(max(settings.pacing_lossy_ratio * self.target_bps, MIN_PACING_BPS))
        bps = max(settings.pacing_ratio * self.target_bps, self._capacity.bps, MIN_PACING_BPS)
        if self._first_feedback_us is None:
            bps = max(bps, settings.pacing_start_ratio * self._capacity.bps)
        return int(bps)

    @property
    def queue_us(self) -> int:
        """The queue that a packet sent now is expected to meet."""
        return int(self._predicted_us(self._now_us))

    def set_demand(self, demand_bps: int, *, now_us: int) -> None:
        """See BandwidthEstimator."""
        self._advance(now_us)
        self._demand_bps = demand_bps

    def handle_rtt(self, rtt_us: int, *, now_us: int) -> None:
        """See BandwidthEstimator; feedback itself tells the round trip."""
        self._advance(now_us)

    def handle_sent(self, packet: SentPacket) -> None:
        """See BandwidthEstimator."""
        self._advance(packet.sent_us)
        if self._first_sent_us is None:
            self._first_sent_us = packet.sent_us
        self._sent_bits += packet.size_bytes * 8
        self._in_flight.sent(packet, capacity_bps=self._capacity.bps)

    def handle_feedback(self, feedback: Feedback) -> None:
        """See BandwidthEstimator."""
        self._advance(feedback.now_us)
        if self._first_feedback_us is None:
            self._first_feedback_us = self._idle_us = feedback.now_us
        carried_bps = self._losses.update(feedback)
        if carried_bps is not None:
            self._capacity.lower_to(carried_bps / self._settings.headroom_ratio)
        newest: SentPacket | None = None
        for result in feedback.results:
            if result.arrival_us is not None:
                newest = result.packet
                self._take(newest, arrival_us=result.arrival_us)
        if newest is not None:
            self._follow(newest, feedback)

    def poll(self, *, now_us: int) -> None:
        """See BandwidthEstimator; silence counts by itself."""
        self._advance(now_us)

    def poll_probe(self, *, now_us: int) -> ProbeCluster | None:
        """No probes: every frame is one."""
        return None

    def poll_timeout(self) -> int | None:
        """Nothing is due but for packets and feedback."""
        return None

    def opens_us(self, *, now_us: int) -> int | None:
        """See BandwidthEstimator: when the queue will be short, or silence long enough for a sign of life."""
        self._advance(now_us)
        settings = self._settings
        late_us = self._late_us(now_us)
        queue_us = late_us if self._competition.rate_bps is not None else self._predicted_us(now_us)
        if queue_us < settings.open_queue_us:
            return None
        sign_us = self._sign_of_life_us(late_us)
        if sign_us is None:
            return None
        drained_us = sign_us if late_us else now_us + int(queue_us) - settings.open_queue_us + 1
        opens_us = min(sign_us, drained_us)
        return opens_us if opens_us > now_us else None

    def _sign_of_life_us(self, late_us: float) -> int | None:
        """When a frame goes out whatever is heard; None before the first one."""
        settings, last_us = self._settings, self._in_flight.last_sent_us
        if last_us is None:
            return None
        silence_us = max(settings.silence_us, settings.silence_ratio * late_us)
        if self._is_lossy:
            silence_us = max(settings.lossy_silence_us, settings.lossy_silence_ratio * late_us)
        return last_us + int(min(settings.longest_silence_us, silence_us))

    @property
    def _is_lossy(self) -> bool:
        return self._losses.mean_ratio > self._settings.lossy_ratio

    @property
    def _most_bps(self) -> float:
        return float("inf") if self._demand_bps is None else DEMAND_RATIO * self._demand_bps

    @property
    def _limit_bps(self) -> float:
        """Where the capacity may be raised to."""
        acknowledged_bps = self._delivered.bps(self._now_us)
        return min(ACKNOWLEDGED_RATIO * acknowledged_bps + ACKNOWLEDGED_BPS, self._most_bps)

    @property
    def _is_unanswered(self) -> bool:
        first_us = self._first_sent_us
        if self._first_feedback_us is not None or first_us is None:
            return False
        return self._now_us - first_us > UNANSWERED_US

    def _advance(self, now_us: int) -> None:
        self._now_us = max(self._now_us, now_us)

    def _late_us(self, now_us: int) -> float:
        settings = self._settings
        late_us = settings.lossy_late_us if self._is_lossy else settings.late_us
        allowance_us = self._interval_us + DEVIATIONS * self._interval_deviation_us + late_us
        return self._in_flight.late_us(now_us, allowance_us=allowance_us)

    def _predicted_us(self, now_us: int) -> float:
        return self._in_flight.queue_us(now_us) + self._late_us(now_us)

    def _take(self, packet: SentPacket, *, arrival_us: int) -> None:
        """Learn from one packet that arrived."""
        now_us, settings, capacity = self._now_us, self._settings, self._capacity
        size_bytes = packet.size_bytes
        self._delivered.add(size_bytes, sent_us=packet.sent_us, now_us=now_us)
        arrival = self._arrivals.take(
            packet,
            arrival_us=arrival_us,
            capacity_bps=capacity.slow_bps,
            base_rtt_us=self._in_flight.base_rtt_us,
            now_us=now_us,
        )
        if arrival is None:
            return
        if arrival.has_queued:
            capacity.queued(size_bytes, gap_us=arrival.gap_us, limit_bps=self._limit_bps)
        else:
            capacity.unqueued(
                size_bytes,
                gap_us=arrival.gap_us,
                sent_gap_us=arrival.sent_gap_us,
                limit_bps=self._limit_bps,
            )
        service_us = size_bytes * 8e6 / capacity.slow_bps
        if arrival.queue_us < settings.idle_queue_us and arrival.gap_us > 1.5 * service_us:
            self._idle_us = now_us
            self._drains_until_us = min(self._drains_until_us, now_us)

    def _follow(self, packet: SentPacket, feedback: Feedback) -> None:
        """Settle what is in flight, and move the estimate; the packet arrived last."""
        queue_us = self._arrivals.queue_us
        now_us, capacity, settings = self._now_us, self._capacity, self._settings
        step_us = 0 if self._feedback_us is None else now_us - self._feedback_us
        self._feedback_us = now_us
        if 0 < step_us < 3 * LONGEST_STEP_US // 2:
            off_us = step_us - self._interval_us
            self._interval_us += INTERVAL_GAIN * off_us
            self._interval_deviation_us += INTERVAL_GAIN * (
                abs(off_us) - self._interval_deviation_us
            )
        elapsed_us = min(step_us, LONGEST_STEP_US)
        self._in_flight.answered(
            packet, queue_us=queue_us, capacity_bps=capacity.bps, now_us=now_us
        )
        is_longer = self._longer_path.update(
            queue_us=queue_us,
            elapsed_us=elapsed_us,
            sent_bits=self._sent_bits,
            capacity_bps=capacity.bps,
            now_us=now_us,
        )
        if is_longer:
            self._arrivals.restart()
        self._compete(feedback, queue_us=queue_us, elapsed_us=elapsed_us)
        capacity.pass_time(elapsed_us, queue_us=queue_us)
        is_used = self._delivered.bps(now_us) > APPLICATION_LIMITED_RATIO * self.target_bps
        is_free = queue_us < settings.growing_queue_us and now_us > self._drains_until_us
        if is_free and is_used and not self._losses.is_excessive:
            answer_us = (self._in_flight.base_rtt_us or 0) + self._interval_us
            capacity.grow(elapsed_us, answer_us=answer_us, limit_bps=self._limit_bps)
        if now_us - self._idle_us > settings.drain_after_us:
            self._drains_until_us = now_us + settings.drain_for_us
            self._idle_us = now_us

    def _compete(self, feedback: Feedback, *, queue_us: float, elapsed_us: int) -> None:
        competition, now_us = self._competition, self._now_us
        competition.update(
            queue_us=queue_us,
            elapsed_us=elapsed_us,
            sent_bits=self._sent_bits,
            capacity_bps=self._capacity.bps,
            target_bps=self.target_bps,
            packets=len(feedback.results),
            now_us=now_us,
        )
        self._sent_bits = 0
        competition.follow(
            queue_us=queue_us,
            rtt_us=(self._in_flight.base_rtt_us or 0) + queue_us + 1,
            has_loss=any(result.arrival_us is None for result in feedback.results),
            elapsed_us=elapsed_us,
            now_us=now_us,
        )
        if competition.rate_bps is None:
            return
        competition.rate_bps = min(competition.rate_bps, self._most_bps)
        if competition.is_over(now_us=now_us):
            self._capacity.raise_to(min(competition.rate_bps, self._limit_bps))
            competition.end()
        elif competition.is_path(now_us=now_us):
            self._arrivals.restart()
            competition.end()
