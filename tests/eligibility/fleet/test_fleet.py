"""The simulated fleet: repeatable, labelled, and built so that what devices claim tells little."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility.fleet.costs import DEFAULT_COSTS
from codecpilot.eligibility.fleet.devices import draw_devices
from codecpilot.eligibility.fleet.priors import SocPrior, soc_prior
from codecpilot.eligibility.fleet.simulate import FleetRequest, fleet_devices, simulate_fleet
from codecpilot.eligibility.outcome import with_outcomes
from codecpilot.eligibility.schema import check_table


def rows_of(*, devices: int = 60, calls: int = 300, seed: int = 5) -> pa.Table:
    return pa.concat_tables(simulate_fleet(FleetRequest(devices=devices, calls=calls, seed=seed)))


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return rows_of()


@pytest.fixture(scope="module")
def devices():
    return fleet_devices(FleetRequest(devices=1500, calls=1, seed=3))


def test_the_same_request_gives_the_same_rows_and_another_seed_others(rows):
    assert rows_of().equals(rows)
    assert not rows_of(seed=6).equals(rows)


def test_rows_keep_to_the_schema_and_say_that_they_are_simulated(rows):
    check_table(rows)
    assert pc.all(rows["simulated"]).as_py()
    assert rows["source"].unique().to_pylist() == ["simulated"]


def test_outcomes_are_those_that_the_rule_for_real_calls_gives(rows):
    place = rows.schema.get_field_index("outcome")
    bare = rows.set_column(place, "outcome", pa.nulls(rows.num_rows, pa.string()))
    assert with_outcomes(bare)["outcome"].to_pylist() == rows["outcome"].to_pylist()
    of_h264 = rows.filter(pc.equal(rows["codec"], "H264"))["outcome"]
    assert of_h264.null_count == len(of_h264)


def test_counters_of_an_interval_fit_each_other(rows):
    values = {name: rows[name].to_numpy() for name in rows.column_names if "frames" in name}
    assert (values["frames_encoded"] + values["frames_dropped"] == values["frames_captured"]).all()
    assert (values["frames_shown_late"] <= values["frames_captured"]).all()
    p50, p95 = rows["encode_p50_us"].to_numpy(), rows["encode_p95_us"].to_numpy()
    assert (p95 > p50).all()


def test_memory_year_and_system_are_tied_to_speed_but_loosely(devices):
    told = [d for d in devices if d.memory_bytes and d.release_year and d.os == "android"]
    speed = np.log([d.speed for d in told])
    claims = [
        np.log([float(d.memory_bytes or 0) for d in told]),
        np.array([float(d.release_year or 0) for d in told]),
        np.array([float(d.os_version) for d in told]),
    ]
    ties = [float(np.corrcoef(claim, speed)[0, 1]) for claim in claims]
    assert all(0.15 < tie < 0.75 for tie in ties), ties
    terms = np.stack([*claims, np.ones(len(told))], axis=1)
    left = speed - terms @ np.linalg.lstsq(terms, speed, rcond=None)[0]
    assert 0.2 < 1 - left.var() / speed.var() < 0.6


def test_models_with_the_same_processor_throttle_differently(devices):
    by_soc: dict[str, list[float]] = {}
    for device in devices:
        if device.soc:
            by_soc.setdefault(device.soc, []).append(device.sustained_ratio)
    spreads = [np.std(ratios) for ratios in by_soc.values() if len(ratios) >= 5]
    assert len(spreads) > 20
    assert 0.05 < float(np.median(spreads)) < 0.3


def test_few_models_have_most_of_the_calls_and_many_have_a_handful(devices):
    shares = np.sort([d.popularity for d in devices])[::-1]
    shares /= shares.sum()
    assert 0.25 < shares[:75].sum() < 0.75, "the first twentieth"
    assert shares[-750:].sum() < 0.2, "the last half"


def test_a_prior_is_a_processor_of_the_fleet_with_its_speed():
    prior = SocPrior(name="xml-known", speed=0.25, decodes_av1=True)
    devices = draw_devices(600, rng=np.random.default_rng(1), priors=[prior] * 20)
    known = [device for device in devices if device.soc == "xml-known"]
    assert known
    assert 0.2 < float(np.median([device.speed for device in known])) < 0.31


def test_a_phones_file_gives_its_speed_against_the_reference_machine(tmp_path):
    xml = """<MediaCodecs><Encoders><MediaCodec name="c2.android.avc.encoder" type="video/avc">
      <Limit name="measured-frame-rate-320x240" range="300-300"/>
      <Limit name="measured-frame-rate-1280x720" range="54-54"/></MediaCodec></Encoders></MediaCodecs>"""
    path = tmp_path / "phone.xml"
    path.write_text(xml)
    # 54 fps are 20.1 ns a pixel, the reference machine takes 4.6.
    assert 0.2 < soc_prior(path, costs=DEFAULT_COSTS).speed < 0.26
    path.write_text(xml.replace("c2.android.avc", "c2.vendor.avc"))
    with pytest.raises(LocalError, match="no software AVC encoder"):
        soc_prior(path, costs=DEFAULT_COSTS)


@pytest.mark.parametrize(
    ("name", "value"), [("devices", 9), ("devices", 10**6), ("calls", 0), ("seed", -1)]
)
def test_a_request_out_of_range_is_refused_with_the_range(name, value):
    with pytest.raises(LocalError, match=rf"{name} {value} is outside"):
        FleetRequest(**({"devices": 10, "calls": 1, "seed": 1} | {name: value}))
