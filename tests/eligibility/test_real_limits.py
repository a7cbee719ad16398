"""This machine under real limits of its processor: whether AV1 is held in real time is foreseen by the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.eligibility_limits import (
    PRESETS,
    SIZES,
    judged,
    right_share,
    runs,
    this_machines_costs,
    trained_model,
    undisturbed,
)

# 45 runs of 6.5 s and more, and a training.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

LIMITS = (0.1, 0.2, 0.3, 0.5, 1.0)
LEAST_RIGHT = 0.9
# Ours: half of the runs; with fewer the machine is too busy to be limited by us.
LEAST_UNDISTURBED = len(LIMITS) * len(SIZES) * len(PRESETS) // 2


def test_whether_av1_is_held_under_a_limit_is_foreseen(tmp_path: Path):
    done = list(runs(LIMITS, SIZES, PRESETS))
    costs = this_machines_costs(tmp_path)
    results = judged(done, trained_model(tmp_path, costs, devices=1000, calls=40_000), costs)
    share = sum(result.is_good for result in results) / len(results)
    # Neither word alone would do.
    assert 0.25 < share < 0.75
    calm = undisturbed(results)
    if right_share(results) < LEAST_RIGHT and len(calm) < LEAST_UNDISTURBED:
        pytest.skip(f"the machine is busy: {len(calm)} of {len(results)} probes were undisturbed")
    assert right_share(results) >= LEAST_RIGHT or right_share(calm) >= LEAST_RIGHT
