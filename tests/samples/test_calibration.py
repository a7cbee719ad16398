"""`doctor --calibrate`: costs that the fleet simulator reads back."""

from __future__ import annotations

import json

import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility.fleet.costs import read_costs
from codecpilot.samples import calibration
from codecpilot.samples.calibration import WORK, calibrate, steps


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "SIZES", ((160, 90), (320, 180)))
    monkeypatch.setattr(calibration, "PICTURES", 6)


def test_every_preset_and_size_has_a_cost_that_the_simulator_reads(quick, tmp_path):
    done: list[int] = []
    costs = calibrate([], on_step=lambda: done.append(1))
    assert len(costs) == 2 * len(WORK)
    assert len(done) == steps([])
    assert all(cost.decode_us > 0 and 0 < cost.encode_us < 1_000_000 for cost in costs)
    path = tmp_path / "costs.json"
    rows = [{name: getattr(cost, name) for name in cost.__slots__} for cost in costs]
    path.write_text(json.dumps({"costs": rows}))
    assert 0 < read_costs(path)["default"].encode_ns_px < 1000


def test_a_clip_that_is_not_there_is_refused(quick):
    with pytest.raises(LocalError, match=r"none\.mp4"):
        calibrate(["none.mp4"])
