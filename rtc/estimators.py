"""The ways a call's rate can follow its path, by the names that settings and scenarios give them."""

from __future__ import annotations

from enum import StrEnum

from ..ratecontrol.bandwidth.codesign import CodesignEstimator
from ..ratecontrol.bandwidth.gcc import GccEstimator
from ..ratecontrol.bandwidth.messages import BandwidthEstimator

# libwebrtc kDefaultStartBitrateBps (bitrate_constraints.h).
DEFAULT_START_BPS = 300_000


class CongestionControl(StrEnum):
    """CODECPILOT and GCC follow transport-wide feedback, REMB follows what a receiver estimates.

    NONE follows nothing: the rate is what the application sets.
    """

    CODECPILOT = "codecpilot"
    GCC = "gcc"
    REMB = "remb"
    NONE = "none"

    @property
    def uses_transport_feedback(self) -> bool:
        """Whether it has an estimator on the sending side."""
        return self in (CongestionControl.CODECPILOT, CongestionControl.GCC)


def open_estimator(name: CongestionControl, *, start_bps: int) -> BandwidthEstimator | None:
    """A new path's estimator; None where no transport-wide feedback is used."""
    if not name.uses_transport_feedback:
        return None
    if name is CongestionControl.GCC:
        return GccEstimator(start_bps=start_bps)
    return CodesignEstimator(start_bps=start_bps)
