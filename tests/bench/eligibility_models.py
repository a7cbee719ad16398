"""The figures of docs/eligibility.md: simulated fleets of several seeds, every version, held-out device models.

python -m tests.bench.eligibility_models --seeds 1,2,3,4,5 --devices 1000 --calls 40000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from codecpilot.eligibility.fleet.simulate import FleetRequest, simulate_fleet
from codecpilot.eligibility.models.calls import read_calls
from codecpilot.eligibility.models.evaluation import Evaluation, evaluate
from codecpilot.eligibility.models.trained import train
from codecpilot.eligibility.models.versions import VERSIONS
from codecpilot.eligibility.store import Store

Cells = list[float]
HEURISTICS, LEARNED = ("heuristic", "heuristic-size"), ("v1.1", "v2")
COLUMNS = (
    *(f"AUC {name}" for name in (*HEURISTICS, *LEARNED)),
    *(f"ECE {name}" for name in LEARNED),
    *(f"on AV1 {name}" for name in (*HEURISTICS, *LEARNED)),
    *(f"low {name}" for name in LEARNED),
    *(f"low, 2 % of all {name}" for name in LEARNED),
)
COLD_COLUMNS = tuple(
    f"{start}: {figure} {name}"
    for start in ("soc", "probe")
    for figure in ("AUC", "ECE", "on AV1")
    for name in LEARNED
)


def main() -> None:
    """Print a table of all seeds and their means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=40_000)
    args = parser.parse_args()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    evaluations = {seed: _run(seed, devices=args.devices, calls=args.calls) for seed in seeds}
    print("\nSIMULATED. Held-out device models, by what their own earlier calls tell.\n")
    _print(COLUMNS, {seed: _cells(each) for seed, each in evaluations.items()})
    print("\nThe same calls, as of device models of which no call is known.\n")
    _print(COLD_COLUMNS, {seed: _cold_cells(each) for seed, each in evaluations.items()})


def _run(seed: int, *, devices: int, calls: int) -> Evaluation:
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for table in simulate_fleet(FleetRequest(devices=devices, calls=calls, seed=seed)):
            store.append(table)
        known = read_calls(store.connect())
        digest = store.digest()
    models = {name: train(known, version=name, data_digest=digest) for name in VERSIONS}
    evaluation = evaluate(known, {name: model.estimator for name, model in models.items()})
    examples = evaluation.examples
    print(
        f"seed {seed}: {len(examples.good)} calls of {len(np.unique(examples.model))} held-out models, "
        f"{examples.good.mean():.1%} good, {evaluation.is_low.mean():.1%} low tier "
        f"({examples.good[evaluation.is_low].mean():.1%} good), {time.process_time() - start:.0f} s CPU",
        flush=True,
    )
    return evaluation


def _cells(evaluation: Evaluation) -> Cells:
    of = {result.name: result for result in evaluation.results}
    all_four = [of[name] for name in (*HEURISTICS, *LEARNED)]
    learned = all_four[2:]
    return [
        *(result.whole.auc or 0 for result in all_four),
        *(result.whole.ece for result in learned),
        *(result.whole.coverage_at_2pct_bad for result in all_four),
        *(result.tiers["low"].coverage_at_2pct_bad for result in learned),
        *(result.low_coverage_at_2pct_bad_of_all for result in learned),
    ]


def _cold_cells(evaluation: Evaluation) -> Cells:
    of = {result.name: result for result in evaluation.results}
    starts = [[of[name].starts[start] for name in LEARNED] for start in ("soc", "probe")]
    return [
        value
        for pair in starts
        for values in (
            [figures.auc or 0 for figures in pair],
            [figures.ece for figures in pair],
            [figures.coverage_at_2pct_bad for figures in pair],
        )
        for value in values
    ]


def _print(columns: Sequence[str], rows: Mapping[int, Cells]) -> None:
    print(f"| seed | {' | '.join(columns)} |")
    print(f"|{'---|' * (len(columns) + 1)}")
    means = [float(value) for value in np.mean(list(rows.values()), axis=0)]
    for title, row in (*rows.items(), ("mean", means)):
        print(f"| {title} | {' | '.join(f'{value:.3f}' for value in row)} |")


if __name__ == "__main__":
    main()
