"""One side's part in planning how its calls begin: what it tells the other, and what it makes of the answer.

Fits CallSettings.start_policy of codecpilot.rtc.connection; knows nothing of calls itself.
"""

from __future__ import annotations

from .policy import SideReport, StartPlan, start_plan
from .side_text import parse_side, side_text

# As rtc/adaptation/priors.py doubts a device of which nothing but its score is known.
DOUBTED_SCORE = 0.35


class CallPolicy:
    """For one call, or for one call after another with the same peer: then a plan is not left for a trifle.

    own is this side's report; peer and plan are what the last call came to, None before it.
    """

    def __init__(self, own: SideReport, *, previous: StartPlan | None = None) -> None:
        """previous is what the last call with the same peer began with."""
        self.own = own
        self.peer: SideReport | None = None
        self.plan = previous

    @property
    def rtc_score(self) -> float:
        """Of this side's device."""
        return self.own.rtc_score

    @property
    def device_text(self) -> str:
        """What the peer is told beside the score."""
        return side_text(self.own)

    def start(self, *, peer_score: float | None, peer_text: str | None) -> StartPlan:
        """How what this side sends begins; None is what the peer did not tell. Raises RemoteError for another text."""
        peer = None
        if peer_score is not None and peer_text is not None:
            peer = parse_side(peer_text, rtc_score=peer_score)
        elif peer_score is not None:
            margins = dict.fromkeys(self.own.receive, peer_score - DOUBTED_SCORE)
            peer = SideReport(
                rtc_score=peer_score, tier="", send=margins, receive=margins, slowness=None
            )
        self.peer = peer
        self.plan = start_plan(self.own, peer, previous=self.plan)
        return self.plan
