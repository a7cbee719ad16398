"""What a sender decided about codec, preset, size and pictures a second, with its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from ..adaptation.decisions import AdaptationDecision
from ..adaptation.operation import Operation
from .records import EventLog


class AdaptationLog:
    """Follows one sending peer's decisions. Times are virtual."""

    def __init__(self, *, peer: str, events: EventLog) -> None:
        self.decisions: list[tuple[int, AdaptationDecision]] = []
        """With the time of each; the first one is how the stream began."""
        self._peer = peer
        self._events = events

    def decided(self, decisions: Iterable[AdaptationDecision], *, now_us: int) -> None:
        """Take what the sender decided since the last call."""
        for decision in decisions:
            self.decisions.append((now_us, decision))
            operation, size = decision.operation, decision.size
            self._events.add(
                now_us,
                self._peer,
                "adaptation",
                reason=decision.reason,
                value=decision.value,
                codec=operation.codec,
                preset=operation.preset,
                scale=float(operation.scale),
                every=operation.every,
                size=f"{size[0]}x{size[1]}",
                layers=decision.layers,
                refused=[
                    {
                        "operation": operation_name(refusal.operation),
                        "constraint": refusal.constraint,
                        "value": refusal.value,
                        "limit": refusal.limit,
                    }
                    for refusal in decision.refused
                ],
            )

    def reasons(self) -> dict[str, int]:
        """How often each reason changed something since the stream began."""
        return dict(sorted(Counter(str(d.reason) for _, d in self.decisions[1:]).items()))

    def shares(self, end_us: int) -> dict[str, float]:
        """The share of the time that each operation was in use, the most used first."""
        spent_us: Counter[str] = Counter()
        times_us = [*(at_us for at_us, _ in self.decisions), end_us]
        for (_, decision), (from_us, to_us) in zip(self.decisions, pairwise(times_us), strict=True):
            spent_us[operation_name(decision.operation)] += to_us - from_us
        total_us = sum(spent_us.values())
        return {name: round(us / total_us, 4) for name, us in spent_us.most_common() if us}


def operation_name(operation: Operation) -> str:
    """As "AV1 default", "AV1 low 1/2", "H264 default, one of 2"."""
    scale = "" if operation.scale == 1 else f" {operation.scale}"
    every = "" if operation.every == 1 else f", one of {operation.every}"
    return f"{operation.codec} {operation.preset}{scale}{every}"
