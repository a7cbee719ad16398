"""A device's own calibration in the place of a table's: presets and sizes as they are there."""

from __future__ import annotations

import pytest

from codecpilot.eligibility.fleet.costs import DEFAULT_COSTS
from codecpilot.eligibility.models.call_table import training_calls
from codecpilot.eligibility.models.own_costs import encode_us, slowness_with_preset

SIZE = {"width": 640, "height": 360}
PX = 640 * 360


def test_the_reference_machine_at_full_speed_is_what_it_is_measured_against():
    assert slowness_with_preset(DEFAULT_COSTS, slowdown=1, **SIZE) == pytest.approx(1)
    assert slowness_with_preset(DEFAULT_COSTS, slowdown=3, **SIZE) == pytest.approx(3)


def test_a_dearer_preset_is_a_slower_device():
    dear = slowness_with_preset(DEFAULT_COSTS, slowdown=2, preset="best", **SIZE)
    best, cheapest = (encode_us(DEFAULT_COSTS[name], PX) for name in ("best", "ultralow"))
    assert dear == pytest.approx(2 * best / cheapest)
    assert 8 < dear < 12


def test_what_is_learned_hangs_on_no_encoders_name(fleet_store):
    """A call writes "libaom 3.13.1", the simulated fleet "libaom"."""
    telemetry = fleet_store.connect()
    few = telemetry.filter(telemetry.call_id < "02")
    named = few.mutate(encoder=few.encoder + " 3.13.1")
    order = ["call_id", "side"]
    plain, other = (training_calls(t).order_by(order).to_pandas() for t in (few, named))
    assert len(plain) > 20
    assert plain.equals(other)
