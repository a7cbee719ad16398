"""What to do when feedback stays away although packets are sent.

Source: libwebrtc, RttBasedBackoff: feedback that is missing counts as a round trip that grows, and
above a limit the rate falls step by step. Ours: the rate before the outage is remembered, so that
the first feedback after it can ask for a probe there rather than climb 8 % a second.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageSettings:
    """When the path counts as out, and how fast the rate falls then."""

    # libwebrtc RttBasedBackoff: configured_limit_, drop_interval_, drop_fraction_ (0.8) in
    # percent, bandwidth_floor_.
    limit_us: int = 3_000_000
    interval_us: int = 1_000_000
    keep_percent: int = 80
    floor_bps: int = 5_000


class OutageGuard:
    """Follows how long feedback is owed. One for each path."""

    def __init__(self, settings: OutageSettings | None = None) -> None:
        self._settings = settings or OutageSettings()
        self._rtt_us = 0
        # The newest packet, and the first that left since feedback was last heard.
        self._sent_us = 0
        self._owed_us: int | None = None
        self._lowered_us: int | None = None
        self._before_bps: int | None = None

    def handle_sent(self, *, now_us: int) -> None:
        """Take note that a packet leaves."""
        self._sent_us = now_us
        if self._owed_us is None:
            self._owed_us = now_us

    def handle_feedback(self, *, rtt_us: int) -> int | None:
        """Take feedback about a packet; returns the rate before the outage where that ends one.

        rtt_us is the time from the sending of the newest packet that it speaks of until now.
        """
        self._rtt_us = rtt_us
        self._owed_us = None
        if rtt_us >= self._settings.limit_us:
            return None
        before_bps, self._before_bps = self._before_bps, None
        return before_bps

    def limit(self, rate_bps: int, *, now_us: int) -> int:
        """The rate to go on with: rate_bps, or less of it where a step down is due now."""
        due_us = self.poll_timeout()
        if due_us is None or now_us < due_us:
            return rate_bps
        if self._before_bps is None:
            self._before_bps = rate_bps
        self._lowered_us = now_us
        lower_bps = rate_bps * self._settings.keep_percent // 100
        return min(rate_bps, max(lower_bps, self._settings.floor_bps))

    def poll_timeout(self) -> int | None:
        """When limit() lowers the rate next; None as long as too little was sent to tell."""
        if self._owed_us is None:
            return None
        due_us = self._owed_us + self._settings.limit_us - self._rtt_us
        if self._sent_us < due_us:
            return None
        if self._lowered_us is None or self._lowered_us < self._owed_us:
            return due_us
        if self._sent_us <= self._lowered_us:
            return None
        return max(due_us, self._lowered_us + self._settings.interval_us)
