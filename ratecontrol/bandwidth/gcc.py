"""Google congestion control: libwebrtc's parts, in libwebrtc's order, with its constants.

Source: draft-ietf-rmcat-gcc-02; libwebrtc, GoogCcNetworkController.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from operator import itemgetter

from ...codecs.errors import LocalError
from .acknowledged import AcknowledgedBitrate, AcknowledgedSettings
from .alr import AlrDetector, AlrSettings
from .delay_based import DelayBasedEstimator, DelaySettings
from .loss_based import LossBasedEstimator, LossSettings
from .losses import LossCounter
from .messages import Feedback, ProbeCluster, SentPacket
from .outage import OutageGuard, OutageSettings
from .probe_result import ProbeResults, ProbeResultSettings
from .probes import ProbeController, ProbeSettings

# libwebrtc kDefaultStartTargetBitrateBps.
START_BPS = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GccSettings:
    """Of all parts, and of what joins them."""

    # Ours: one packet of 300 bytes every quarter second is still a picture now and then.
    min_bps: int = 10_000
    # libwebrtc kDefaultPaceMultiplier before the first feedback; Chromium's pacing factor after it.
    pacing_start_ratio: float = 2.5
    pacing_ratio: float = 1.1
    # libwebrtc kMaxFeedbackRttWindow: the delay-based part takes the mean of so many.
    rtt_window: int = 32
    # libwebrtc kProbeDropThroughputFraction: a probe lowers the estimate no further than to this
    # part of what is acknowledged.
    probe_drop_ratio: float = 0.85
    delay: DelaySettings = field(default_factory=DelaySettings)
    loss: LossSettings = field(default_factory=LossSettings)
    acknowledged: AcknowledgedSettings = field(default_factory=AcknowledgedSettings)
    alr: AlrSettings = field(default_factory=AlrSettings)
    probes: ProbeSettings = field(default_factory=ProbeSettings)
    probe_results: ProbeResultSettings = field(default_factory=ProbeResultSettings)
    outage: OutageSettings = field(default_factory=OutageSettings)


class GccEstimator:
    """Implements BandwidthEstimator. One for each path."""

    def __init__(self, settings: GccSettings | None = None, *, start_bps: int = START_BPS) -> None:
        settings = settings or GccSettings()
        if start_bps < settings.min_bps:
            raise LocalError(f"start_bps is {settings.min_bps} or more, got {start_bps}")
        self._settings = settings
        min_bps = settings.min_bps
        self._delay = DelayBasedEstimator(settings.delay, start_bps=start_bps, min_bps=min_bps)
        self._loss = LossBasedEstimator(settings.loss, start_bps=start_bps, min_bps=min_bps)
        self._acknowledged = AcknowledgedBitrate(settings.acknowledged)
        self._alr = AlrDetector(settings.alr, estimate_bps=start_bps)
        self._probes = ProbeController(settings.probes, estimate_bps=start_bps)
        self._probe_results = ProbeResults(settings.probe_results)
        self._outage = OutageGuard(settings.outage)
        self._rtts_us: deque[int] = deque(maxlen=settings.rtt_window)
        self._losses = LossCounter()
        self._alr_ended_us: int | None = None
        self._target_bps = start_bps
        self._heard = False

    @property
    def target_bps(self) -> int:
        """The estimate."""
        return self._target_bps

    @property
    def pacing_bps(self) -> int:
        """The estimate times the pacing factor."""
        settings = self._settings
        ratio = settings.pacing_ratio if self._heard else settings.pacing_start_ratio
        return round(self._target_bps * ratio)

    @property
    def acknowledged_bps(self) -> int | None:
        """How fast packets arrive; None until enough of them did."""
        return self._acknowledged.bps

    def set_demand(self, demand_bps: int, *, now_us: int) -> None:
        """Take what the sources would send at most; probes go to twice that."""
        self._probes.set_demand(demand_bps, now_us=now_us)

    def handle_rtt(self, rtt_us: int, *, now_us: int) -> None:
        """Take a round-trip time that RTCP measured; losses are judged by it."""
        self._loss.set_rtt(rtt_us)

    def handle_sent(self, packet: SentPacket) -> None:
        """Take a packet that leaves."""
        was_in_alr = self._alr.since_us is not None
        self._alr.handle_sent(packet.size_bytes, now_us=packet.sent_us)
        self._outage.handle_sent(now_us=packet.sent_us)
        since_us = self._alr.since_us
        if was_in_alr != (since_us is not None):
            self._alr_ended_us = packet.sent_us if was_in_alr else None
            self._probes.set_alr(since_us, now_us=packet.sent_us)

    def handle_feedback(self, feedback: Feedback) -> None:
        """Take feedback; one that speaks of no packet is none."""
        if not feedback.results:
            return
        now_us = feedback.now_us
        self._heard = True
        newest_us = max(result.packet.sent_us for result in feedback.results)
        before_outage_bps = self._outage.handle_feedback(rtt_us=now_us - newest_us)
        lost, total = self._losses.count(feedback.results)
        self._loss.handle_results(lost=lost, total=total, now_us=now_us)
        arrivals = [
            (result.arrival_us, result.packet)
            for result in feedback.results
            if result.arrival_us is not None
        ]
        if arrivals:
            arrivals.sort(key=itemgetter(0))
            self._handle_arrivals(arrivals, now_us)
        self._loss.update(limit_bps=self._delay.rate_bps, now_us=now_us)
        self._publish(now_us)
        if before_outage_bps is not None and before_outage_bps > self._target_bps:
            self._probes.request(before_outage_bps, now_us=now_us)

    def poll(self, *, now_us: int) -> None:
        """Lower the estimate where feedback stays away."""
        rate_bps = self._outage.limit(self._target_bps, now_us=now_us)
        if rate_bps < self._target_bps:
            self._loss.set_rate(rate_bps)
            self._publish(now_us)

    def opens_us(self, *, now_us: int) -> int | None:
        """See BandwidthEstimator: frames are not held back."""
        return None

    def poll_probe(self, *, now_us: int) -> ProbeCluster | None:
        """A probe cluster to send now, once."""
        cluster = self._probes.poll(now_us=now_us)
        if cluster is not None:
            self._probe_results.expect(cluster)
        return cluster

    def poll_timeout(self) -> int | None:
        """When feedback counts as missing, or a periodic probe is due."""
        times = (self._outage.poll_timeout(), self._probes.poll_timeout())
        return min((time for time in times if time is not None), default=None)

    def _handle_arrivals(self, arrivals: list[tuple[int, SentPacket]], now_us: int) -> None:
        """Take packets in order of arrival into all that measures, then move the rates."""
        self._rtts_us.append(now_us - min(packet.sent_us for _, packet in arrivals))
        self._delay.set_rtt(sum(self._rtts_us) // len(self._rtts_us))
        probe_bps = self._measure(arrivals)
        recovered = self._delay.handle_arrivals(arrivals, now_us=now_us)
        acknowledged_bps = self._acknowledged.bps
        if probe_bps is not None and acknowledged_bps is not None:
            floor_bps = round(self._settings.probe_drop_ratio * acknowledged_bps)
            probe_bps = max(probe_bps, min(self._delay.rate_bps, floor_bps))
        if self._delay.update(
            acknowledged_bps=acknowledged_bps, probe_bps=probe_bps, now_us=now_us
        ):
            self._loss.set_rate(self._delay.rate_bps)
        if recovered:
            self._probes.handle_recovery(now_us=now_us)

    def _measure(self, arrivals: list[tuple[int, SentPacket]]) -> int | None:
        """Follow the acknowledged bitrate; returns what a probe reached, if any did."""
        in_alr = self._alr.since_us is not None
        probe_bps: int | None = None
        for arrival_us, packet in arrivals:
            if self._alr_ended_us is not None and packet.sent_us > self._alr_ended_us:
                self._acknowledged.expect_change()
                self._alr_ended_us = None
            self._acknowledged.handle_arrival(packet, arrival_us=arrival_us, in_alr=in_alr)
            if packet.probe_id is not None:
                reached_bps = self._probe_results.handle_arrival(packet, arrival_us=arrival_us)
                probe_bps = probe_bps if reached_bps is None else reached_bps
        return probe_bps

    def _publish(self, now_us: int) -> None:
        self._target_bps = min(self._delay.rate_bps, self._loss.rate_bps)
        self._alr.set_estimate(self._target_bps)
        self._probes.set_estimate(self._target_bps, now_us=now_us)
