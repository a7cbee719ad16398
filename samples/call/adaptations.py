"""What a side decided about its coding during a call, as it is shown and kept. Pure."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from ...rtc.adaptation.decisions import AdaptationDecision
from .series import US_PER_S, Window

# How many the page lists.
SHOWN = 5
_NONE_YET: dict[str, Any] = {"preset": None, "coded": None, "every": 1, "reason": None}


class AdaptationLog:
    """The decisions of one sender, in order."""

    def __init__(self) -> None:
        self._times_us: list[int] = []
        self._decisions: list[dict[str, Any]] = []

    def add(self, decision: AdaptationDecision, *, now_us: int) -> None:
        """It was decided at now_us on the wall clock."""
        operation, value = decision.operation, decision.value
        self._times_us.append(max([now_us, *self._times_us[-1:]]))
        self._decisions.append(
            {
                "codec": operation.codec.value,
                "preset": operation.preset,
                "coded": list(decision.size),
                "every": operation.every,
                "layers": decision.layers,
                "reason": decision.reason.value,
                "value": None if value is None else round(value, 3),
            }
        )

    def live(self, now_us: int) -> dict[str, Any]:
        """What holds now, and the last decisions, newest first, with how long ago each was made."""
        newest = self._decisions[-1] if self._decisions else _NONE_YET
        last = list(zip(self._times_us, self._decisions, strict=True))[-SHOWN:]
        return {
            **{name: newest[name] for name in _NONE_YET},
            "decisions": [
                {"ago_s": round((now_us - at_us) / US_PER_S, 1), **decision}
                for at_us, decision in reversed(last)
            ],
        }

    def summary(self, window: Window) -> list[dict[str, Any]]:
        """The decision that held as the window began (at_s is 0 or less), and those within it."""
        first = max(bisect_right(self._times_us, window.start_us) - 1, 0)
        return [
            {"at_s": round((at_us - window.start_us) / US_PER_S, 3), **decision}
            for at_us, decision in zip(self._times_us, self._decisions, strict=True)
        ][first : bisect_right(self._times_us, window.end_us)]
