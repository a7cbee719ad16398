"""Real runs against the model: does this machine, under a limit of its processor, hold AV1 in real time?

python -m tests.bench.eligibility_limits

A model is trained on a fleet that is simulated with this machine's own costs (doctor --calibrate). Then an encoder runs
in real time under limits by control groups, with each preset at each size, after a probe under the same limit; what
the rule of outcomes says of its pictures is set against the score. Takes as many times 6.5 s as there are runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from codecpilot.eligibility.fleet.costs import DEFAULT_COSTS, CostTable, read_costs
from codecpilot.eligibility.fleet.simulate import FleetRequest, simulate_fleet
from codecpilot.eligibility.models.calls import read_calls
from codecpilot.eligibility.models.client import ClientModel, Device, Request, Score
from codecpilot.eligibility.models.own_costs import encode_us, slowness_with_preset
from codecpilot.eligibility.models.registry import load_client, save
from codecpilot.eligibility.models.trained import train
from codecpilot.eligibility.outcome import with_outcomes
from codecpilot.eligibility.schema import INTERVAL_US, empty_row, table_of
from codecpilot.eligibility.store import Store
from codecpilot.samples.calibration import calibrate
from codecpilot.samples.eligibility.probe import calibrated_slowness
from codecpilot.samples.this_device import device_columns

from tests.bench.limited_encoder import INTERVAL_S, INTERVALS
from tests.cpu_limit import cpu_limit

ROOT = Path(__file__).parents[2]
FPS = 30
LIMITS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.55, 0.75, 1.0)
SIZES = ((640, 360), (1280, 720), (1920, 1080))
PRESETS = ("ultralow", "default", "best")
# Nothing is received in these runs: the least that a call receives.
RECEIVED = {"receive_px": 320 * 180, "receive_fps": 15.0}
# Whose probe got less than this part of its limit shared the processor with other work.
UNDISTURBED_RATIO = 0.85
# What a plain rule would say: libwebrtc's CpuOveruseOptions.high_encode_usage_threshold_percent.
PLAIN_LOAD = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """limit is in processors; shares of it are of CPU time, 1 where all of it was used."""

    limit: float
    width: int
    height: int
    preset: str
    probe: float
    probe_share: float
    share: float
    intervals: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """load is the part of real time that encoding was expected to take."""

    run: Run
    is_good: bool
    score: Score
    load: float

    @property
    def is_right(self) -> bool:
        """Whether the likelier of held and not held came true."""
        return (self.score.rtc_score >= 0.5) == self.is_good


def this_machines_costs(folder: Path) -> CostTable:
    """By calibration, as doctor --calibrate --json writes and simulate-fleet --costs reads it."""
    path = folder / "costs.json"
    path.write_text(json.dumps({"costs": [asdict(cost) for cost in calibrate([])]}))
    return read_costs(path)


def trained_model(folder: Path, costs: CostTable, *, devices: int, calls: int) -> ClientModel:
    """The client artefact of v2 on a simulated fleet."""
    store = Store(folder / "store")
    for table in simulate_fleet(FleetRequest(devices=devices, calls=calls, seed=1, costs=costs)):
        store.append(table)
    model = train(read_calls(store.connect()), version="v2", data_digest=store.digest())
    save(model, folder / "v2")
    return load_client(folder / "v2")


def runs(
    limits: Iterable[float], sizes: Sequence[tuple[int, int]], presets: Sequence[str]
) -> Iterator[Run]:
    """Run after run. Raises what pytest skips a test with where no limit can be set."""
    command = [sys.executable, "-m", "tests.bench.limited_encoder", json.dumps(sizes)]
    with (
        cpu_limit() as group,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        group.add(process.pid)
        for limit in limits:
            group.set(limit)
            for width, height in sizes:
                for preset in presets:
                    request = {"width": width, "height": height, "fps": FPS, "preset": preset}
                    print(json.dumps(request), file=process.stdin, flush=True)
                    told = json.loads(process.stdout.readline())
                    yield _run(told, limit=limit, width=width, height=height, preset=preset)
        group.set(None)
        process.stdin.close()


def judged(done: Sequence[Run], model: ClientModel, costs: CostTable) -> list[Judged]:
    """The score that each run had beforehand, and what came of it."""
    columns = device_columns()
    device = Device.of_columns(columns)
    rows = [row for number, run in enumerate(done) for row in _rows(run, number, columns)]
    outcomes = {row["call_id"]: row["outcome"] for row in with_outcomes(table_of(rows)).to_pylist()}
    usual = calibrated_slowness(costs)
    return [
        _judged(run, outcomes[_call_id(number)], device, model, costs, usual=usual)
        for number, run in enumerate(done)
    ]


def right_share(results: Sequence[Judged]) -> float:
    """Of the runs."""
    return sum(result.is_right for result in results) / len(results)


def undisturbed(results: Sequence[Judged]) -> list[Judged]:
    """Those whose probe was not held up by other work of the machine."""
    return [r for r in results if r.run.probe_share >= UNDISTURBED_RATIO]


def _run(told: dict[str, Any], **of: Any) -> Run:
    limit = of["limit"]
    return Run(
        probe=told["probe"],
        probe_share=told["probe_cpu_ratio"] / limit,
        share=told["cpu_s"] / (INTERVALS * INTERVAL_S) / limit,
        intervals=told["intervals"],
        **of,
    )


def _call_id(number: int) -> str:
    return f"{number:08x}"


def _rows(run: Run, number: int, columns: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """As a call would have written them."""
    for index, interval in enumerate(run.intervals):
        yield {
            **empty_row(),
            **columns,
            "call_id": _call_id(number),
            "side": "a",
            "interval_index": index,
            "time_us": index * INTERVAL_US,
            "source": "call",
            "codec": "AV1",
            "preset": run.preset,
            "width": run.width,
            "height": run.height,
            "fps": float(FPS),
            "encode_p50_us": interval["p50_us"],
            "encode_p95_us": interval["p95_us"],
            "frames_captured": interval["captured"],
            "frames_encoded": interval["encoded"],
            "frames_dropped": interval["captured"] - interval["encoded"],
            "simulated": False,
        }


def _judged(
    run: Run, outcome: str, device: Device, model: ClientModel, costs: CostTable, *, usual: float
) -> Judged:
    px = run.width * run.height
    probe = slowness_with_preset(
        costs,
        slowdown=run.probe / usual,
        preset=run.preset,
        width=run.width,
        height=run.height,
    )
    request = Request(px=px, fps=FPS, **RECEIVED)
    return Judged(
        run=run,
        is_good=outcome == "good",
        score=model.score(device, request=request, probe=probe),
        load=probe * encode_us(DEFAULT_COSTS["ultralow"], px) * FPS / 1e6,
    )


def main() -> None:
    """Print each run, and the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", default=",".join(map(str, LIMITS)), help="in processors")
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=40_000)
    args = parser.parse_args()
    limits = [float(limit) for limit in args.limits.split(",")]
    with tempfile.TemporaryDirectory() as name:
        costs = this_machines_costs(Path(name))
        model = trained_model(Path(name), costs, devices=args.devices, calls=args.calls)
    done = []
    try:
        for run in runs(limits, SIZES, PRESETS):
            done.append(run)
            print(".", end="", file=sys.stderr, flush=True)
    except pytest.skip.Exception as skipped:
        sys.exit(str(skipped))
    _print(judged(done, model, costs))


def _print(results: Sequence[Judged]) -> None:
    print(
        "\nlimit | size | preset | load expected | limit used | rtc_score | admitted | outcome | right"
    )
    print("|".join(["---"] * 9))
    for result in results:
        run, score = result.run, result.score
        print(
            f"{run.limit:.0%} | {run.width}x{run.height} | {run.preset} | {result.load:.2f} | "
            f"{run.share:.0%} | {score.rtc_score:.2f} | {'yes' if score.is_admitted else 'no'} | "
            f"{'held' if result.is_good else 'not held'} | {'' if result.is_right else 'NO'}"
        )
    calm = undisturbed(results)
    by_load = sum((r.load < PLAIN_LOAD) == r.is_good for r in results) / len(results)
    admitted = [result.is_good for result in results if result.score.is_admitted]
    held = sum(result.is_good for result in results)
    print(
        f"\n{len(results)} runs, {held} held: {right_share(results):.1%} classified right "
        f"(score 0.5 and more: held).\n{len(calm)} of them probed without other work in the way: "
        f"{right_share(calm) if calm else 0:.1%}.\n{len(admitted)} admitted to AV1 by the "
        f"threshold, {sum(admitted)} of them held.\n"
        f"By the expected load alone, held below {PLAIN_LOAD}: {by_load:.1%}."
    )


if __name__ == "__main__":
    main()
