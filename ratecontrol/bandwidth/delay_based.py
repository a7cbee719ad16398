"""The delay-based half: arrival groups, their trend and the rate that follows from it.

Source: libwebrtc, DelayBasedBwe.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .aimd import AimdRateControl, AimdSettings
from .arrival_groups import ArrivalGroups, GroupSettings
from .messages import SentPacket
from .trendline import Trendline, TrendlineSettings, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class DelaySettings:
    """Of the three parts, and when they begin anew."""

    groups: GroupSettings = field(default_factory=GroupSettings)
    trendline: TrendlineSettings = field(default_factory=TrendlineSettings)
    aimd: AimdSettings = field(default_factory=AimdSettings)
    # libwebrtc kStreamTimeOut: after such a silence delays are compared anew.
    silence_us: int = 2_000_000


class DelayBasedEstimator:
    """Follows one path's delay."""

    def __init__(
        self, settings: DelaySettings | None = None, *, start_bps: int, min_bps: int
    ) -> None:
        self._settings = settings or DelaySettings()
        self._groups = ArrivalGroups(self._settings.groups)
        self._trendline = Trendline(self._settings.trendline)
        self._aimd = AimdRateControl(self._settings.aimd, start_bps=start_bps, min_bps=min_bps)
        self._heard_us: int | None = None
        self._usage = Usage.NORMAL

    @property
    def rate_bps(self) -> int:
        """The rate in force."""
        return self._aimd.rate_bps

    @property
    def usage(self) -> Usage:
        """What the last feedback's delays said."""
        return self._usage

    def set_rtt(self, rtt_us: int) -> None:
        """Take the round-trip time, feedback's delay included."""
        self._aimd.set_rtt(rtt_us)

    def handle_arrivals(self, arrivals: Iterable[tuple[int, SentPacket]], *, now_us: int) -> bool:
        """Take packets with their arrivals, in that order; whether a full queue has drained."""
        if self._heard_us is not None and now_us - self._heard_us > self._settings.silence_us:
            self._groups.reset()
            self._trendline.reset()
        self._heard_us = now_us
        recovered = False
        usage = self._trendline.usage
        for arrival_us, packet in arrivals:
            delta = self._groups.handle_arrival(
                sent_us=packet.sent_us, arrival_us=arrival_us, now_us=now_us
            )
            if delta is None:
                continue
            before, usage = usage, self._trendline.handle_group(delta)
            recovered |= before is Usage.UNDERUSE and usage is Usage.NORMAL
        self._usage = usage
        return recovered and usage is Usage.NORMAL

    def update(self, *, acknowledged_bps: int | None, probe_bps: int | None, now_us: int) -> bool:
        """Move the rate; whether it was set to what a probe reached."""
        if self._usage is Usage.OVERUSE:
            if self._aimd.may_reduce(acknowledged_bps, now_us=now_us):
                self._aimd.update(Usage.OVERUSE, acknowledged_bps=acknowledged_bps, now_us=now_us)
            return False
        if probe_bps is not None:
            self._aimd.set_rate(probe_bps, now_us=now_us)
            return True
        self._aimd.update(self._usage, acknowledged_bps=acknowledged_bps, now_us=now_us)
        return False
