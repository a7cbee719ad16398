"""What an application sets of adaptation, and the limits that it may set during the call."""

from __future__ import annotations

from dataclasses import dataclass

from ...codecs.errors import LocalError
from ...codecs.types import Codec
from .operations import AUTO, checked_preset

# The coded sizes that the packages below take: 2x2 is H.264's least, AV1 writes sides in 16 bits.
SIDE_RANGE_PX = (2, 65_536)
FPS_RANGE = (1, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPoint:
    """How a stream begins where something is known of both devices beforehand.

    H.264 is taken where it was negotiated; AV1 leaves the codec to the application's order. preset is a row of
    AV1's table, used as far as the application lets the best be used. Pictures are no larger than this, whichever
    way round, and no more a second until both devices are seen to carry more. is_peers tells that it
    is the peer's device that sets all this.
    """

    codec: Codec
    preset: str
    max_width: int
    max_height: int
    max_fps: float
    is_peers: bool = False

    def __post_init__(self) -> None:
        if checked_preset(self.preset) == AUTO:
            raise LocalError(f"a stream cannot begin with preset {AUTO!r}")
        _check("max_width", self.max_width, SIDE_RANGE_PX)
        _check("max_height", self.max_height, SIDE_RANGE_PX)
        _check("max_fps", self.max_fps, FPS_RANGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationSettings:
    """How a sender adapts to its device and to its peer's.

    cpu_budget_ratio is the part of the frame interval that quality beyond what is needed may use.
    Below battery_ratio, without power, H.264 is sent; None ignores the battery. own_score and peer_score are
    the rtc_score of both devices, None where it is not known. send_codecs are those that this side
    may send, None for all that were negotiated. start says how the stream begins, in place of the scores.
    """

    enabled: bool = True
    cpu_budget_ratio: float = 0.5
    battery_ratio: float | None = 0.2
    own_score: float | None = None
    peer_score: float | None = None
    send_codecs: tuple[Codec, ...] | None = None
    start: StartPoint | None = None

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
