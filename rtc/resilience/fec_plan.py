"""How much FEC suits a path: by how much it loses, in what bursts, and how long a retransmission takes."""

from __future__ import annotations

from dataclasses import dataclass

from .loss_monitor import Loss
from .nack import DEFAULT_RTT_US
from .settings import Switch

# ours: below this a retransmission comes before the picture would freeze, and costs only what was lost.
SLOW_RTT_US = 70_000
# ours: rarer losses cost less when each is repaired than when all are prepared for.
ON_RATIO = 0.02
# ours: once on, it goes on until losses are clearly rarer, lest each loss change the plan.
OFF_RATIO = 0.01
# ours: how much for which loss. One packet in five gives back one of a frame of three to five.
LEVELS = ((0.08, 20), (0.15, 34), (1.0, 50))
# ours: groups of frames would be longer than a retransmission takes on shorter paths.
LONG_RTT_US = 200_000
LONG_FRAMES = 3
SHORT_FRAMES = 2
# ours: from this mean on a burst takes more of one frame than its FEC gives back.
BURST_PACKETS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FecPlan:
    """percent FEC packets for a hundred of the base layer; 0 for none.

    A group has at least so many frames, and at most max_frames where it has too few packets for one of FEC.
    It has least FEC packets if that is not too many for it.
    """

    percent: int
    least: int = 1
    frames: int = 1
    max_frames: int = 1


NO_FEC = FecPlan(percent=0)


def fec_plan(loss: Loss, *, before: FecPlan, rtt_us: int | None, switch: Switch) -> FecPlan:
    """The plan for these losses; before is the one in force."""
    rtt_us = DEFAULT_RTT_US if rtt_us is None else rtt_us
    is_long = rtt_us >= LONG_RTT_US
    is_bursty = loss.burst_packets >= BURST_PACKETS
    least_ratio = OFF_RATIO if before.percent else ON_RATIO
    is_wanted = loss.ratio >= least_ratio and rtt_us > SLOW_RTT_US
    if switch is Switch.OFF or (switch is Switch.AUTO and not is_wanted):
        return NO_FEC
    percent = next(percent for ratio, percent in LEVELS if loss.lasting_ratio <= ratio)
    frames = LONG_FRAMES if is_long else SHORT_FRAMES
    return FecPlan(
        percent=percent,
        least=round(loss.burst_packets) if is_bursty else 1,
        frames=frames if is_bursty else 1,
        max_frames=frames if is_bursty or is_long else 1,
    )
