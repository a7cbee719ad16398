"""What the policy against loss decides, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What changes by a decision."""

    KEY = "key"
    """The next frame is a key frame."""
    LTRP = "ltrp"
    """The next frame reads the most recently acknowledged long-term reference alone."""
    LAYERS = "layers"
    """value is how many temporal layers there are from now on."""
    FEC = "fec"
    """value is how many FEC packets there are for a hundred of the base layer."""
    HOLD = "hold"
    """The answer to a NACK waits for FEC; value is the sequence number."""


class Reason(StrEnum):
    """Why."""

    START = "start of the stream"
    APPLICATION = "application"
    CODEC = "codec switch"
    LOSS = "loss in feedback"
    BURST = "burst in feedback"
    NACK_TOO_LARGE = "more asked for than the path carries in time"
    EXPIRED = "frames came too late to be sent"
    RPSI = "RPSI"
    PLI = "PLI"
    PLI_AGAIN = "PLI again"
    FIR = "FIR"
    PROACTIVE = "loss is likely"
    LOSS_RATIO = "loss ratio"
    LOSS_GONE = "loss is over"
    SETTING = "setting"
    FEC_COVERS = "FEC covers it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision; value is what the action says it is."""

    now_us: int
    action: Action
    reason: Reason
    value: int | None = None
