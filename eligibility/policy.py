"""What a call begins with: the scores of both sides in, codec, preset, size and rate of each direction out.

Pure. What a call does once it runs is adaptation's business; this is where it starts, and how large it may get.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .fleet.costs import DEFAULT_COSTS
from .models.client import ClientModel, Device, Request
from .models.reference import USABLE_RATIO

AV1, H264 = "AV1", "H264"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A way to begin, if both sides' scores are at least enter above their thresholds.

    A direction that is at this step, or at one above it, stays as long as they are at least leave above.
    """

    codec: str
    width: int
    height: int
    fps: int
    enter: float
    leave: float


# Best first. enter 0: of the held-out calls from a threshold on 2 % were bad. leave: twice the 95th percentile of how
# far a device model's margin moves between two trainings on the same simulated fleet (0.02 to 0.04).
STEPS = (
    Step(codec=AV1, width=1280, height=720, fps=30, enter=0.0, leave=-0.08),
    Step(codec=AV1, width=960, height=540, fps=30, enter=0.0, leave=-0.08),
    Step(codec=AV1, width=640, height=360, fps=30, enter=0.0, leave=-0.08),
    Step(codec=AV1, width=480, height=270, fps=30, enter=0.0, leave=-0.08),
    Step(codec=AV1, width=320, height=180, fps=15, enter=0.0, leave=-0.08),
    Step(codec=H264, width=1280, height=720, fps=30, enter=-1.0, leave=-1.0),
)
PRESETS = ("default", "low", "ultralow")
"""Best first; a call may go on to dearer ones once it has measured that they fit."""
TIERS = ("low", "high")
Pace = tuple[int, int]
"""Pixels a picture, and pictures a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideReport:
    """What a side tells the other at set-up. send and receive are its margins, score less threshold, by pace.

    slowness is against the reference machine, None where it is not known.
    """

    rtc_score: float
    tier: str
    send: Mapping[Pace, float]
    receive: Mapping[Pace, float]
    slowness: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """How one direction begins: no more than this size and rate. why is a phrase.

    is_receivers tells that the receiver's margin is the smaller one.
    """

    codec: str
    preset: str
    max_width: int
    max_height: int
    max_fps: int
    step: int
    why: str
    is_receivers: bool = False


def side_report(
    model: ClientModel,
    device: Device,
    *,
    probe: float | None = None,
    on_power: bool | None = None,
    battery_ratio: float | None = None,
) -> SideReport:
    """Score a device for each step of the table, sending and receiving."""
    state = Request(on_power=on_power, battery_ratio=battery_ratio)
    usual = model.score(device, request=state, probe=probe)
    send: dict[Pace, float] = {}
    receive: dict[Pace, float] = {}
    for px, fps in dict.fromkeys(_pace(step) for step in STEPS):
        sending = replace(state, px=px, fps=fps)
        receiving = replace(state, receive_px=px, receive_fps=fps)
        for margins, request in ((send, sending), (receive, receiving)):
            score = model.score(device, request=request, probe=probe)
            margins[px, fps] = score.rtc_score - score.threshold
    return SideReport(
        rtc_score=usual.rtc_score,
        tier=usual.tier,
        send=send,
        receive=receive,
        slowness=usual.slowness,
    )


def start_plan(
    sender: SideReport, receiver: SideReport | None, *, previous: StartPlan | None = None
) -> StartPlan:
    """The best step that both sides hold; None is a receiver that nothing is known of.

    previous is what the direction was at before, if it was.
    """
    for place, step in enumerate(STEPS):
        margin, is_receivers = _margin(step, sender, receiver)
        stays = previous is not None and previous.step <= place
        if margin >= (step.leave if stays else step.enter):
            return StartPlan(
                codec=step.codec,
                preset=_preset(step, sender),
                max_width=step.width,
                max_height=step.height,
                max_fps=step.fps,
                step=place,
                why=_why(margin, is_receivers=is_receivers),
                is_receivers=is_receivers,
            )
    raise AssertionError("the last step admits every score")


def _margin(step: Step, sender: SideReport, receiver: SideReport | None) -> tuple[float, bool]:
    """Of the side that has less, and whether that is the receiver."""
    sends = _at(sender.send, _pace(step))
    if receiver is None:
        return sends, False
    receives = _at(receiver.receive, _pace(step))
    return min(sends, receives), receives < sends


def _at(margins: Mapping[Pace, float], pace: Pace) -> float:
    """What a side told of this pace, or of one that asks more: another version may have other paces."""
    if pace in margins:
        return margins[pace]
    harder = [m for (px, fps), m in margins.items() if px >= pace[0] and fps >= pace[1]]
    return max(harder, default=-1.0)


def _why(margin: float, *, is_receivers: bool) -> str:
    """What decided, in words."""
    weaker = "the receiver" if is_receivers else "the sender"
    return f"{weaker} is {margin:+.2f} from its threshold"


def _pace(step: Step) -> Pace:
    return step.width * step.height, step.fps


def _preset(step: Step, sender: SideReport) -> str:
    """The best preset that leaves room at this pace; the cheapest where the speed is not known."""
    if step.codec != AV1 or sender.slowness is None:
        return PRESETS[0] if step.codec != AV1 else PRESETS[-1]
    for name in PRESETS:
        cost = DEFAULT_COSTS[name]
        frame_us = cost.encode_fixed_us + cost.encode_ns_px * step.width * step.height / 1000
        if frame_us * sender.slowness * step.fps / 1e6 <= USABLE_RATIO:
            return name
    return PRESETS[-1]
