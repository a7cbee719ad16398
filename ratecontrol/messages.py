"""What the frame controller says: the plan for a picture and the verdict on a try."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class FrameKind(StrEnum):
    """What a frame is to the rate: each kind has a size and a quality of its own."""

    KEY = "key"
    LTR = "ltr"
    """The periodic frame of higher quality that later frames may be repaired from."""
    DELTA = "delta"
    """A frame of the base layer."""
    ENHANCEMENT = "enhancement"
    """A frame that no other frame reads (temporal layer T1)."""


class DropReason(StrEnum):
    """Why a picture is not sent."""

    FRAME_RATE = "frame rate"
    """Decided before encoding: at this rate fewer pictures look better."""
    BACKLOG = "backlog"
    """Decided before encoding: what was sent before leaves no room."""
    TOO_LARGE = "too large"
    """Decided after encoding: even the coarsest try exceeds the cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FramePlan:
    """How to encode the next picture.

    cap_bits is the largest size that is sent as it comes; hard_cap_bits the largest that keeps the
    delay bound. target_bits is what the frame is expected to take. target_bps goes to encoders that
    run their own rate control.
    """

    kind: FrameKind
    quantizer: int
    scale: Fraction
    target_bps: int
    target_bits: int
    cap_bits: int
    hard_cap_bits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Send this try. It is counted in the bucket already."""

    vbv_delay_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Encode the same picture again, like this."""

    quantizer: int
    scale: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Do not send this picture. After a dropped key try the next frame must be a key frame."""

    reason: DropReason


Verdict = Send | Retry | Drop
