"""What an application sets of adaptation, and the limits that it may set during the call."""

from __future__ import annotations

from dataclasses import dataclass

from ...codecs.errors import LocalError
from ...codecs.types import Codec

# The coded sizes that the packages below take: 2x2 is H.264's least, AV1 writes sides in 16 bits.
SIDE_RANGE_PX = (2, 65_536)
FPS_RANGE = (1, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationSettings:
    """How a sender adapts to its device and to its peer's.

    cpu_budget_ratio is the part of the frame interval that quality beyond what is needed may use.
    Below battery_ratio, without power, H.264 is sent; None ignores the battery. own_score and peer_score are
    the rtc_score of both devices, None where it is not known. send_codecs are those that this side
    may send, None for all that were negotiated.
    """

    enabled: bool = True
    cpu_budget_ratio: float = 0.5
    battery_ratio: float | None = 0.2
    own_score: float | None = None
    peer_score: float | None = None
    send_codecs: tuple[Codec, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("cpu_budget_ratio", "battery_ratio", "own_score", "peer_score"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise LocalError(f"{name} {value} is outside 0..1")
        if self.send_codecs is not None and not self.send_codecs:
            raise LocalError("send_codecs names no codec; None is all")


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderLimits:
    """The most that is sent, as W3C's RTCRtpEncodingParameters limit it; None is no limit."""

    max_bps: int | None = None
    max_width: int | None = None
    max_height: int | None = None
    max_fps: float | None = None

    def __post_init__(self) -> None:
        _check("max_bps", self.max_bps, (1, 10**10))
        _check("max_width", self.max_width, SIDE_RANGE_PX)
        _check("max_height", self.max_height, SIDE_RANGE_PX)
        _check("max_fps", self.max_fps, FPS_RANGE)


def _check(name: str, value: float | None, bounds: tuple[int, int]) -> None:
    low, high = bounds
    if value is not None and not low <= value <= high:
        raise LocalError(f"{name} {value} is outside {low}..{high}")
