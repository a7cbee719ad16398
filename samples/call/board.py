"""The live figures of a call, as the page and the terminal show them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .figures import Figures, direction_figures


class Board:
    """Holds the last figures that each side told."""

    def __init__(self, sides: Sequence[str]) -> None:
        self._sides = tuple(sides)
        self._told: dict[str, dict[str, Any]] = {}
        self._rounds = dict.fromkeys(sides, 0)

    def take(self, side: str, values: dict[str, Any]) -> None:
        """A side's {"sent", "shown"}, and "link" where one carries what it sends."""
        self._told[side] = values
        self._rounds[side] += 1

    @property
    def rounds(self) -> int:
        """How often both sides told theirs."""
        return min(self._rounds.values())

    def directions(self) -> list[Figures]:
        """Each direction's live figures; none before both sides told theirs."""
        if len(self._told) < len(self._sides):
            return []
        first, second = self._sides
        return [
            direction_figures(
                a,
                b,
                sent=self._told[a]["sent"],
                shown=self._told[b]["shown"],
                link=self._told[a].get("link"),
            )
            for a, b in ((first, second), (second, first))
        ]
