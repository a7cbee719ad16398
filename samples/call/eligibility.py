"""How well this side's device is expected to hold the call, and how the call begins for that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...codecs.errors import LocalError
from ...eligibility.call_policy import CallPolicy
from ...eligibility.models.client import ClientModel, Device, Request, Score
from ...eligibility.models.registry import load_client
from ...eligibility.policy import SideReport, side_report
from ...rtc.connection.device_health import DeviceMeter
from ..eligibility.keys import public_key
from ..eligibility.probe import probe_slowness
from ..this_device import device_columns
from .options import CallOptions


def load_model(path: str) -> ClientModel:
    """A model that is whole and, where CODECPILOT_MODEL_KEY names a key, signed with it. Raises LocalError."""
    return load_client(Path(path), public_key=public_key(None))


def check_eligibility(call: CallOptions) -> None:
    """Raise LocalError for a model that is none, or a call that it says nothing to."""
    if not call.device.adaptation:
        raise LocalError("--eligibility says where adaptation begins, and --adaptation is off")
    load_model(str(call.device.eligibility))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStart:
    """This side's policy, and what its score rests on; simulated tells what the model was trained on."""

    policy: CallPolicy
    score: Score
    probe: float | None
    simulated: bool

    def figures(self) -> dict[str, Any] | None:
        """How what this side sends began, and why; None before the other side is known."""
        plan, peer = self.policy.plan, self.policy.peer
        if plan is None:
            return None
        return {
            "codec": plan.codec,
            "preset": plan.preset,
            "max_size": [plan.max_width, plan.max_height],
            "max_fps": plan.max_fps,
            "why": plan.why,
            "sender": {**_side(self.policy.own), **self._evidence()},
            "receiver": None if peer is None else _side(peer),
            "simulated": self.simulated,
        }

    def _evidence(self) -> dict[str, Any]:
        return {
            "low": round(self.score.low, 4),
            "high": round(self.score.high, 4),
            "evidence": self.score.evidence,
            "probe": None if self.probe is None else round(self.probe, 3),
        }


def score_this_side(model: ClientModel) -> CallStart:
    """By the model's knowledge of this device or, without any, by a probe: a few hundred ms of encoding."""
    device = Device.of_columns(device_columns())
    is_known = device.name is not None and model.knows(device.name)
    probe = None if is_known else probe_slowness()
    health = DeviceMeter().read(now_us=0)
    power: dict[str, Any] = {"on_power": health.on_power, "battery_ratio": health.battery_ratio}
    return CallStart(
        policy=CallPolicy(side_report(model, device, probe=probe, **power)),
        score=model.score(device, request=Request(**power), probe=probe),
        probe=probe,
        simulated=bool(model.card.get("simulated")),
    )


def _side(report: SideReport) -> dict[str, Any]:
    return {"rtc_score": round(report.rtc_score, 4), "tier": report.tier}
