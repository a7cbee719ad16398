"""Measures the feature query on a large store: wall and CPU time, and the memory it takes at most.

python -m tests.bench.eligibility_features [--rows 5000000] [--folder DIR]

Wanted: 5 million rows in under 10 s and 2 GB on 2 cores. The rows are drawn at random.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from codecpilot.eligibility.features import device_features
from codecpilot.eligibility.store import Store

from tests.eligibility.rows import many_rows

PART_ROWS = 500_000


def fill(store: Store, *, rows: int) -> None:
    """Append random parts until the store holds the rows."""
    for seed, begin in enumerate(range(0, rows, PART_ROWS)):
        store.append(many_rows(min(PART_ROWS, rows - begin), seed=seed, models=2_000))


def measure(folder: Path) -> str:
    """The features of a store, computed once; says what that took. Runs in a process of its own."""
    began = time.perf_counter()
    features = device_features(Store(folder).connect()).to_pandas()
    wall_s = time.perf_counter() - began
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (
        f"{len(features)} device models, {int(features.n_intervals.sum())} rows:"
        f" {wall_s:.1f} s, {usage.ru_utime + usage.ru_stime:.1f} s of CPU,"
        f" {usage.ru_maxrss / 1024:.0f} MB at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path, help="an existing store, measured as it is")
    options = parser.parse_args()
    if options.folder:
        print(measure(options.folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        fill(Store(Path(folder)), rows=options.rows)
        # Another process: making the rows took more memory than reading them.
        module = "tests.bench.eligibility_features"
        subprocess.run([sys.executable, "-m", module, "--folder", folder], check=True)


if __name__ == "__main__":
    main()
