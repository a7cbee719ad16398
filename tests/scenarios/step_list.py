"""Scenarios as lists of steps: conditions that hold for a while, and what must be seen meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from codecpilot.codecs.types import Codec
from codecpilot.rtc.adaptation.costs import Cost
from codecpilot.rtc.percentile import percentile
from codecpilot.rtc.simulation.records import PacketKind
from codecpilot.rtc.simulation.run import Run, simulate
from codecpilot.rtc.simulation.scenario import scenario
from codecpilot.samples.simulate.pictures import Sources
from codecpilot.samples.simulate.tools import make_tools

Bounds = tuple[float, float]

# One direction carries the test; the other is as small as a call's can be.
DEFAULTS = {
    "a.size": "320x180",
    "a.target_kbps": 200,
    "b.size": "64x64",
    "b.fps": 10,
    "b.target_kbps": 20,
    "delay_ms": 40,
    "rate": 500,
}


# A device of its own, so that newer measurements of a real one move no bounds.
COSTS = {(codec, "default"): Cost(encode_ns=15.0, decode_ns=3.6) for codec in Codec}


@dataclass(frozen=True)
class Step:
    """Conditions for some seconds; a figure of `expect` must lie within its bounds, ends included.

    Figures are of pictures that peer a captured meanwhile; see figures().
    """

    seconds: float
    expect: Mapping[str, Bounds]
    conditions: Mapping[str, float] = field(default_factory=dict)


def run_steps(steps: Sequence[Step], **settings: object) -> Run:
    """Run all steps as one call; settings hold throughout."""
    values: dict[str, object] = {}
    for name, value in {**DEFAULTS, **settings}.items():
        scope, _, key = name.rpartition(".")
        (values.setdefault(scope, {}) if scope else values)[key] = value
    for name in {name for step in steps for name in step.conditions}:
        scope, _, key = name.rpartition(".")
        spec, start = [], 0.0
        for step in steps:
            spec.append(f"{start}:{step.conditions[name]}")
            start += step.seconds
        (values.setdefault(scope, {}) if scope else values)[key] = ",".join(spec)
    values["seconds"] = sum(step.seconds for step in steps)
    checked = scenario(values, read_text=lambda path: "", default_bps=lambda size, fps: 200_000)
    return simulate(checked, make_tools(checked, sources=Sources(checked.peers), costs=COSTS))


def check_steps(run: Run, steps: Sequence[Step]) -> None:
    """Every figure of every step within its bounds."""
    start_s, problems = 0.0, []
    for number, step in enumerate(steps, start=1):
        seen = figures(run, start_s, start_s + step.seconds)
        for name, (low, high) in step.expect.items():
            if not low <= seen[name] <= high:
                problems.append(f"step {number}: {name} is {seen[name]}, not in {low}..{high}")
        start_s += step.seconds
    assert not problems, "\n".join(problems)


def figures(run: Run, start_s: float, end_s: float) -> dict[str, float]:
    """What became of what a captured and sent in [start_s, end_s).

    shown counts pictures, stalls_s adds up gaps between shown pictures beyond 200 ms, late_ms are
    percentiles of capture to shown, queue_ms of the link's wait; -1 where there is nothing.
    """
    start_us, end_us = int(start_s * 1e6), int(end_s * 1e6)
    direction = run.directions["a->b"]
    frames = [f for f in direction.recorder.frames if start_us <= f.capture_us < end_us]
    packets = [p for p in direction.recorder.packets if start_us <= p.sent_us < end_us]
    late = [f.shown_us - f.capture_us for f in frames if f.shown_us is not None]
    shown_at = sorted(f.shown_us for f in direction.recorder.frames if f.shown_us is not None)
    edges = [start_us, *(t for t in shown_at if start_us <= t < end_us), end_us]
    gaps = [b - a for a, b in itertools.pairwise(edges)]
    events = [e for e in run.events.events if start_us <= e["time_us"] < end_us]
    scores = [f.psnr_y for f in frames if f.psnr_y is not None]
    return {
        "captured": len(frames),
        "sent": sum(f.bytes is not None for f in frames),
        "shown": len(late),
        "key_frames": sum(f.key for f in frames),
        "stalls_s": sum(g for g in gaps if g > 200_000) / 1e6,
        "late_ms_p50": _ms(late, 50),
        "late_ms_p95": _ms(late, 95),
        "queue_ms_p95": _ms([p.queue_us for p in packets if p.queue_us is not None], 95),
        "kbps": sum(f.bytes or 0 for f in frames) * 8e-3 / (end_s - start_s),
        "resent": sum(p.kind is PacketKind.RTX for p in packets),
        "lost": sum(bool(p.fate) for p in packets if p.kind is PacketKind.MEDIA),
        "nacks": sum(e["event"] == "nack" and e["peer"] == "b" for e in events),
        "plis": sum(e["event"] == "pli" and e["peer"] == "b" for e in events),
        "psnr_y": sum(scores) / len(scores) if scores else -1,
    }


def _ms(values_us: Sequence[int], percent: int) -> float:
    value = percentile(values_us, percent)
    return -1 if value is None else value / 1000
