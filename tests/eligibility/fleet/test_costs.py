"""Cost tables, built in and read from a calibration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codecpilot.codecs.av1_presets import PRESETS
from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility.fleet.costs import AV1_PRESETS, DEFAULT_COSTS, H264, read_costs

SIZES = ((320, 180), (640, 360), (1280, 720))


def written(path: Path, *, encode_fixed_us: float = 100, ns_px: float = 5.0, **changes) -> Path:
    rows = [
        {
            "codec": "H264" if preset == H264 else "AV1",
            "preset": "default" if preset == H264 else preset,
            "width": width,
            "height": height,
            "encode_us": encode_fixed_us + ns_px * width * height / 1000,
            "decode_us": 20 + width * height / 1000,
        }
        | changes
        for preset in (*AV1_PRESETS, H264)
        for width, height in SIZES
    ]
    path.write_text(json.dumps({"costs": rows}))
    return path


def test_the_table_has_every_preset_of_the_encoder():
    assert set(DEFAULT_COSTS) == {*PRESETS, H264}
    assert tuple(PRESETS) == AV1_PRESETS


def test_a_calibration_is_read_back_as_the_line_that_it_was_made_from(tmp_path):
    cost = read_costs(written(tmp_path / "costs.json"))["low"]
    assert cost.encode_fixed_us == pytest.approx(100, rel=1e-6)
    assert cost.encode_ns_px == pytest.approx(5.0)
    assert cost.decode_fixed_us == pytest.approx(20, rel=1e-6)


def test_times_that_fall_short_at_small_sizes_give_no_negative_cost(tmp_path):
    cost = read_costs(written(tmp_path / "costs.json", encode_fixed_us=-200))["low"]
    assert cost.encode_fixed_us == 0
    assert 0 < cost.encode_ns_px < 5


@pytest.mark.parametrize(
    "changes", [{"encode_us": -1}, {"encode_us": "fast"}, {"encode_us": 1e12}, {"codec": "VP9"}]
)
def test_a_file_of_nonsense_is_refused(changes, tmp_path):
    with pytest.raises(LocalError, match="not what codecpilot doctor --calibrate writes"):
        read_costs(written(tmp_path / "costs.json", **changes))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"costs": 3}', '{"costs": []}'])
def test_a_file_of_something_else_is_refused(text, tmp_path):
    path = tmp_path / "costs.json"
    path.write_text(text)
    with pytest.raises(LocalError, match="not what"):
        read_costs(path)
    with pytest.raises(LocalError, match="No such file"):
        read_costs(tmp_path / "absent.json")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"costs": [{"codec": "H264", "width": 1%s}]}' % ("0" * 400)]
)
def test_what_no_number_can_hold_is_refused(tmp_path, text):
    path = tmp_path / "costs.json"
    path.write_text(text)

    with pytest.raises(LocalError, match="doctor --calibrate"):
        read_costs(path)
