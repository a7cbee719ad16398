"""What one stream may use: the application's rate, the receiver's, its share of the path; less its FEC."""

from __future__ import annotations

from ..codecs.errors import LocalError
from .fec_sender import FecSender
from .send_path import SendPath

# ours: a REMB or an estimate below this starves the call rather than steering it.
MIN_TARGET_BPS = 10_000


class StreamRate:
    """Follows the limits of one stream, and tells its path what it would use."""

    def __init__(
        self, *, ssrc: int, max_bps: int, path: SendPath, fec: FecSender, now_us: int
    ) -> None:
        """max_bps is the application's. Raises LocalError below MIN_TARGET_BPS."""
        self._ssrc = ssrc
        self._path = path
        self._fec = fec
        self._remb_bps: int | None = None
        self._told_bps: int | None = None
        self.application_bps = checked_target(max_bps)
        self.limit_bps: int | None = None
        """What the application allows beside its rate; None: no limit."""
        self.tell(now_us)

    @property
    def max_bps(self) -> int:
        """What the application would have."""
        limit_bps = self.limit_bps
        return self.application_bps if limit_bps is None else min(self.application_bps, limit_bps)

    @property
    def target_bps(self) -> int:
        """The rate that the encoder is asked to hold: what FEC takes comes out of the same rate."""
        demand_bps = self._demand_bps - self._fec_bps
        share_bps = self._path.share_bps(self._ssrc)
        target_bps = demand_bps if share_bps is None else min(demand_bps, share_bps)
        return max(target_bps, MIN_TARGET_BPS)

    def set_remb(self, remb_bps: int, *, now_us: int) -> None:
        """Take what the receiver estimates."""
        self._remb_bps = remb_bps
        self.tell(now_us)

    def tell(self, now_us: int) -> None:
        """Let the path know of a rate that changed, and see what FEC takes."""
        self._fec_bps = self._fec.bps(now_us=now_us)
        if self._told_bps != self._demand_bps:
            self._told_bps = self._demand_bps
            self._path.set_demand(self._ssrc, self._told_bps, now_us=now_us)

    @property
    def _demand_bps(self) -> int:
        """What the application and the receiver allow."""
        limit_bps = self.max_bps if self._remb_bps is None else min(self.max_bps, self._remb_bps)
        return max(limit_bps, MIN_TARGET_BPS)


def checked_target(target_bps: int) -> int:
    """The rate, if it is one that a stream can have. Raises LocalError otherwise."""
    if target_bps < MIN_TARGET_BPS:
        raise LocalError(f"target_bps {target_bps} is below {MIN_TARGET_BPS}")
    return target_bps
