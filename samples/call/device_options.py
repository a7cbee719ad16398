"""What a call is asked about its devices: what adapts, what limits, and what differs between the sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

SIDES = ("A", "B")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceOptions:
    """Of both sides; rtc_scores and send_codecs have one entry for each, None where nothing is set.

    eligibility is the folder of a model that scores the devices.
    """

    adaptation: bool = True
    cpu_budget_ratio: float = 0.5
    battery_ratio: float | None = 0.2
    rtc_scores: tuple[float | None, ...] = (None, None)
    send_codecs: tuple[tuple[str, ...] | None, ...] = (None, None)
    max_size: tuple[int, int] | None = None
    max_fps: Fraction | None = None
    eligibility: str | None = None

    def settings(self, side: str) -> Mapping[str, Any]:
        """The fields of CallSettings for a side."""
        from ...rtc.adaptation.settings import SenderLimits

        index = SIDES.index(side)
        width, height = self.max_size or (None, None)
        max_fps = None if self.max_fps is None else float(self.max_fps)
        return {
            "adaptation": self.adaptation,
            "cpu_budget_ratio": self.cpu_budget_ratio,
            "battery_ratio": self.battery_ratio,
            "rtc_score": self.rtc_scores[index],
            "send_codecs": self.send_codecs[index],
            "limits": SenderLimits(max_width=width, max_height=height, max_fps=max_fps),
        }

    def to_json(self) -> dict[str, Any]:
        """For the peers, and for the report."""
        return {**asdict(self), "max_fps": None if self.max_fps is None else str(self.max_fps)}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> DeviceOptions:
        """What to_json wrote."""
        max_size, max_fps = values["max_size"], values["max_fps"]
        codecs = values["send_codecs"]
        return DeviceOptions(
            **{
                **values,
                "rtc_scores": tuple(values["rtc_scores"]),
                "send_codecs": tuple(None if c is None else tuple(c) for c in codecs),
                "max_size": None if max_size is None else tuple(max_size),
                "max_fps": None if max_fps is None else Fraction(max_fps),
            }
        )
