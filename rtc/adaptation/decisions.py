"""What adaptation decides, why, and what it refused on the way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .operation import Operation


class AdaptationReason(StrEnum):
    """Why an operation is in use."""

    APPLICATION = "application"
    """The application's settings, its limits, or what it set."""
    PRIOR = "rtc_score"
    RATE = "rate"
    LOSS = "loss"
    """The layers alone changed: see rtc/resilience."""
    ENCODE_LATENCY = "encode latency"
    PEER_DECODE = "peer's decoding"
    PEER_RECOVERED = "peer's decoding recovered"
    BATTERY = "battery"
    POWER = "on power"
    CPU_PRESSURE = "CPU pressure"
    SPARE_TIME = "spare time"
    """What is better fits in the time that is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A better operation that a constraint vetoed: what it would have come to, and the most allowed."""

    operation: Operation
    constraint: str
    value: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationDecision:
    """One decision. The first of a stream says how it begins.

    size is the width and height at which pictures are coded at most, layers the number of temporal
    ones. value is what spoke for the decision, such as the part of the frame interval that encoding
    took. refused are the operations of higher quality that were vetoed.
    """

    time_us: int
    operation: Operation
    size: tuple[int, int]
    layers: int
    reason: AdaptationReason
    value: float | None = None
    refused: tuple[Refusal, ...] = ()
