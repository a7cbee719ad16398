"""The ways a call's rate can follow its path, by the names that settings and scenarios give them."""

from __future__ import annotations

from enum import StrEnum

from ..ratecontrol.bandwidth.codesign import CodesignEstimator
from ..ratecontrol.bandwidth.gcc import GccEstimator
from ..ratecontrol.bandwidth.messages import BandwidthEstimator


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


def open_estimator(
    name: CongestionControl, *, start_bps: int | None = None
) -> BandwidthEstimator | None:
    """A new path's estimator; None where no transport-wide feedback is used.

    start_bps is what the path is taken for before anything is known; None leaves it to the estimator.
    """
    if not name.uses_transport_feedback:
        return None
    if name is CongestionControl.GCC:
        return GccEstimator() if start_bps is None else GccEstimator(start_bps=start_bps)
    return CodesignEstimator(start_bps=start_bps)
