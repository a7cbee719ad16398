"""Features are what the rows say, however the rows are cut into parts."""

from __future__ import annotations

import math
import resource
import time
from pathlib import Path

import pandas as pd
import pytest

from codecpilot.eligibility.features import OUTPUT, call_features, device_features
from codecpilot.eligibility.store import Store

from .rows import START_US, call, many_rows, table


def features(tmp_path: Path, *calls) -> pd.DataFrame:
    store = Store(tmp_path)
    store.append(table(*calls))
    return device_features(store.connect()).to_pandas()


def test_one_device_gives_one_row_with_the_columns_promised(tmp_path: Path):
    made = call(5, number=1, outcome="good"), call(5, number=2, outcome="bad"), call(1, number=3)
    found = features(tmp_path, *made)

    assert tuple(found.columns) == OUTPUT
    (one,) = found.to_dict("records")
    assert (one["device_model"], one["device_brand"], one["soc"]) == ("One", "acme", "soc-1")
    assert (one["n_calls"], one["n_intervals"], one["n_good"], one["n_bad"]) == (3, 11, 1, 1)
    assert (one["cores"], one["os_version"], one["release_year"]) == (8, 13, 2021)
    assert one["good_ratio"] == pytest.approx(0.5)
    # 15 ms of the 33.3 that a picture has.
    assert one["encode_load"] == pytest.approx(0.45)
    assert one["encode_ns_px"] == pytest.approx(10e6 / (640 * 360))
    assert one["decode_load"] == pytest.approx(0.09)
    assert one["drop_ratio"] == 0.0
    assert one["throttle"] == pytest.approx(0.0, abs=1e-9)
    assert math.isnan(one["pressure"])
    assert one["time_us"] == START_US + 40_000_000
    assert not one["simulated"]


def test_models_of_one_name_on_two_chips_are_two(tmp_path: Path):
    found = features(
        tmp_path, call(number=1), call(number=2, soc="soc-2"), call(number=3, soc=None)
    )

    assert found.n_calls.tolist() == [1, 1, 1]


def test_rows_without_a_model_are_nobodys(tmp_path: Path):
    assert len(features(tmp_path, call(device_model=None))) == 0


def test_h264_is_kept_apart_from_av1(tmp_path: Path):
    (one,) = features(tmp_path, call(codec="H264")).to_dict("records")

    assert math.isnan(one["encode_load"])
    assert math.isnan(one["encode_ns_px"])
    assert one["h264_encode_ns_px"] == pytest.approx(10e6 / (640 * 360))


def test_throttling_is_the_growth_of_the_encode_time_over_the_call(tmp_path: Path):
    made = call(11)
    for index, row in enumerate(made):
        row["encode_p50_us"] = 10_000 + 1_000 * index
    (one,) = features(tmp_path, made).to_dict("records")

    # 10 ms more at the end than at the beginning, 15 ms on average.
    assert one["throttle"] == pytest.approx(10 / 15)


def test_what_the_device_lost_is_counted_and_what_the_path_took_is_not(tmp_path: Path):
    made = call(4, frames_dropped=30, frames_shown_late=15, limited_cpu_us=5_000_000)
    made[0].update(limited_bandwidth_us=9_000_000, frames_dropped=299)
    made[1].update(frames_captured=None, frames_dropped=299)
    (one,) = features(tmp_path, made).to_dict("records")

    assert one["drop_ratio"] == pytest.approx(0.1)
    assert one["late_ratio"] == pytest.approx(0.05)
    assert one["limited_cpu_ratio"] == pytest.approx(0.5)


def test_calls_weigh_the_same_however_long_they_are(tmp_path: Path):
    long, short = call(30, number=1), call(3, number=2, encode_p95_us=30_000)
    (one,) = features(tmp_path, long, short).to_dict("records")

    assert one["encode_load"] == pytest.approx((0.45 + 0.9) / 2)
    assert 0.85 < one["encode_load_p95"] < 0.9


def test_zero_sizes_of_the_world_make_no_infinity(tmp_path: Path):
    made = call(4, frames_captured=0, frames_encoded=0, fps=0.0, encode_p50_us=0, encode_p95_us=0)
    (one,) = features(tmp_path, made).to_dict("records")

    assert math.isnan(one["drop_ratio"])
    assert math.isnan(one["throttle"])
    assert one["encode_load"] == 0.0


def test_call_features_have_a_row_a_side(tmp_path: Path):
    store = Store(tmp_path)
    store.append(table(call(3), call(3, side="b"), call(3, number=1, outcome="bad")))
    found = call_features(store.connect()).to_pandas()

    assert len(found) == 3
    assert found.bad.sum() == 1


def test_how_rows_are_cut_into_parts_makes_no_difference(tmp_path: Path):
    rows = many_rows(3_000, seed=3, models=11)
    whole, parts = Store(tmp_path / "whole"), Store(tmp_path / "parts")
    whole.append(rows)
    for begin in range(0, 3_000, 700):
        parts.append(rows.slice(begin, 700))
    found = [
        device_features(store.connect()).order_by("device_model", "device_brand", "soc").to_pandas()
        for store in (whole, parts)
    ]

    pd.testing.assert_frame_equal(*found, rtol=1e-9)
    assert len(found[0]) > 11


def test_a_tenth_of_a_million_rows_cost_little(tmp_path: Path):
    """5 million rows took 3.6 s of CPU and 0.63 GB; see tests/bench/eligibility_features.py."""
    store = Store(tmp_path)
    store.append(many_rows(100_000, seed=4))
    query = device_features(store.connect())
    began_s, before_kb = time.process_time(), _most_kb()
    found = query.to_pandas()

    assert found.n_intervals.sum() > 85_000
    assert 0.0 < time.process_time() - began_s < 2.0
    assert _most_kb() - before_kb < 1 << 20


def _most_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
