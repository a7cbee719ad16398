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
# ours: steps of the ratio, lest each loss change the plan.
STEP_PERCENT = 5
MIN_PERCENT = 10
MAX_PERCENT = 50
# ours: a group is over before a retransmission would be there; receivers wait no longer than 100 ms.
MAX_FRAMES = 3
LONG_RTT_US = 150_000
# ours: from this mean on a burst would take more of one frame than its FEC gives back.
BURST_PACKETS = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class FecPlan:
    """percent FEC packets for a hundred of the base layer; 0 for none.

    A group has at least so many frames, and at most max_frames where it has too few packets for one of FEC.
    """

    percent: int
    frames: int = 1
    max_frames: int = 1


NO_FEC = FecPlan(percent=0)


def fec_plan(loss: Loss, *, rtt_us: int | None, switch: Switch) -> FecPlan:
    """The plan for these losses."""
    rtt_us = DEFAULT_RTT_US if rtt_us is None else rtt_us
    is_wanted = loss.lasting_ratio >= ON_RATIO and rtt_us > SLOW_RTT_US
    if switch is Switch.OFF or (switch is Switch.AUTO and not is_wanted):
        return NO_FEC
    wanted = 100 * loss.lasting_ratio * 3
    percent = STEP_PERCENT * round(wanted / STEP_PERCENT)
    max_frames = MAX_FRAMES if rtt_us >= LONG_RTT_US else MAX_FRAMES - 1
    return FecPlan(
        percent=min(max(percent, MIN_PERCENT), MAX_PERCENT),
        frames=1 if loss.burst_packets < BURST_PACKETS else max_frames,
        max_frames=max_frames,
    )
