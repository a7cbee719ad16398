"""The figures of docs/eligibility.md: simulated fleets of several seeds, every version, held-out device models.

python -m tests.bench.eligibility_models --seeds 1,2,3,4,5 --devices 1000 --calls 40000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from codecpilot.eligibility.fleet.simulate import FleetRequest, simulate_fleet
from codecpilot.eligibility.models.calls import read_calls
from codecpilot.eligibility.models.evaluation import Evaluation, ModelResult, evaluate
from codecpilot.eligibility.models.trained import train
from codecpilot.eligibility.models.versions import VERSIONS
from codecpilot.eligibility.store import Store

Row = list[float]
COLUMNS = ("AUC", "ECE", "on AV1", "low AUC", "low on AV1", "low, 2 % of all", "high on AV1")
STARTS = ("AUC by SoC", "ECE", "on AV1", "AUC by probe", "ECE", "on AV1")


def main() -> None:
    """Print a table of all seeds and their means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=40_000)
    args = parser.parse_args()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    evaluations = {seed: _run(seed, devices=args.devices, calls=args.calls) for seed in seeds}
    print("\nSIMULATED. Held-out device models, what their own earlier calls tell.\n")
    _print("seed | model", COLUMNS, _rows(evaluations, _figures))
    print("\nThe same calls as of device models that were never seen.\n")
    _print("seed | model", STARTS, _rows(evaluations, _cold_figures))


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


def _figures(result: ModelResult) -> Row:
    low, high = result.tiers["low"], result.tiers["high"]
    return [
        result.whole.auc or 0,
        result.whole.ece,
        result.whole.coverage_at_2pct_bad,
        low.auc or 0,
        low.coverage_at_2pct_bad,
        result.low_coverage_at_2pct_bad_of_all,
        high.coverage_at_2pct_bad,
    ]


def _cold_figures(result: ModelResult) -> Row:
    return [
        value
        for start in ("soc", "probe")
        for of in [result.starts[start]]
        for value in (of.auc or 0, of.ece, of.coverage_at_2pct_bad)
    ]


def _rows(evaluations: dict[int, Evaluation], figures: object) -> Iterator[tuple[str, Row]]:
    assert callable(figures)
    of_model: dict[str, list[Row]] = {}
    for seed, evaluation in evaluations.items():
        for result in evaluation.results:
            row = figures(result)
            of_model.setdefault(result.name, []).append(row)
            yield f"{seed} | {result.name}", row
    for name, rows in of_model.items():
        yield f"mean | {name}", [float(value) for value in np.mean(rows, axis=0)]


def _print(first: str, columns: Sequence[str], rows: Iterator[tuple[str, Row]]) -> None:
    print(f"| {first} | {' | '.join(columns)} |")
    print(f"|{'---|' * (len(columns) + 2)}")
    for title, row in rows:
        print(f"| {title} | {' | '.join(f'{value:.4f}' for value in row)} |")


if __name__ == "__main__":
    main()
