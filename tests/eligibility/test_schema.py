"""The telemetry schema refuses what does not fit, and says what and where."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.eligibility.schema import (
    COLUMNS,
    SCHEMA_VERSION,
    TELEMETRY,
    arrow_schema,
    check_table,
    empty_row,
    table_of,
)

from .rows import call, row, table


def test_a_healthy_row_passes_and_keeps_its_values():
    made = table([row()])

    assert made.schema == arrow_schema()
    assert made.to_pylist() == [row()]


def test_columns_are_told_apart_by_name_and_explained():
    assert len(COLUMNS) == len(TELEMETRY) == 41
    assert all(column.meaning for column in TELEMETRY)


def test_an_empty_row_holds_the_version_alone():
    made = empty_row()

    assert made.pop("schema_version") == SCHEMA_VERSION
    assert made.pop("simulated") is False
    assert set(made.values()) == {None}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"fps": math.nan}, "fps"),
        ({"fps": math.inf}, "fps"),
        ({"fps": "fast"}, "wrong type"),
        ({"fps": 1001.0}, "0..1000"),
        ({"cores": -1}, "1..4096"),
        ({"cores": 1 << 70}, "wrong type"),
        ({"side": "c"}, "side"),
        ({"outcome": "fine"}, "outcome"),
        ({"time_us": None}, "time_us"),
        ({"simulated": None}, "simulated"),
        ({"call_id": "not hex"}, "call_id"),
        ({"call_id": "ab"}, "call_id"),
        ({"battery_ratio": 1.1}, "battery_ratio"),
        ({"device_model": "a@b.example"}, "device_model"),
        ({"device_model": "x" * 65}, "device_model"),
        ({"device_model": "two\nlines"}, "device_model"),
        ({"encoder": "libaom\n"}, "encoder"),
        ({"address": "here"}, "address"),
        ({"schema_version": 99}, "99"),
        ({"schema_version": None}, "None"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(columns, said):
    with pytest.raises(LocalError, match=said):
        table_of([{**row(), **columns}])


def test_mixed_versions_are_refused_with_both_named():
    with pytest.raises(LocalError, match=r"mixed schema versions 1, 2"):
        table_of([row(), row(schema_version=2)])


def test_missing_unknown_and_doubled_columns_are_named_together():
    good = table([row()])
    odd = good.drop_columns(["fps"]).append_column("extra", pa.array([1]))
    doubled = pa.Table.from_arrays([*odd.columns, odd["os"]], names=[*odd.column_names, "os"])

    with pytest.raises(LocalError, match=r"missing: fps; unknown: extra; twice: os"):
        check_table(doubled)


def test_columns_in_another_order_and_narrower_types_are_put_right():
    good = table(call(3))
    narrow = good.set_column(
        good.schema.get_field_index("width"), "width", good["width"].cast(pa.int16())
    )

    assert check_table(narrow.select(sorted(narrow.column_names))).equals(good)


def test_no_rows_are_a_table_too():
    assert check_table(arrow_schema().empty_table()).num_rows == 0
