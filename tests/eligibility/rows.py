"""Telemetry rows for tests: single ones, whole calls, and many at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from codecpilot.eligibility.schema import (
    INTERVAL_US,
    SCHEMA_VERSION,
    Value,
    arrow_schema,
    empty_row,
    table_of,
)

START_US = 1_700_000_000_000_000
CALL_ID = "00112233445566778899aabbccddeeff"


def row(**columns: Value) -> dict[str, Value]:
    """A healthy interval of a call on AV1, but for what is given."""
    made = empty_row()
    made.update(
        call_id=CALL_ID,
        side="a",
        interval_index=0,
        time_us=START_US,
        source="call",
        device_brand="acme",
        device_model="One",
        soc="soc-1",
        cores=8,
        memory_bytes=4 << 30,
        os="android",
        os_version="13.1",
        release_year=2021,
        codec="AV1",
        width=640,
        height=360,
        fps=30.0,
        encode_p50_us=10_000,
        encode_p95_us=15_000,
        decode_p50_us=2_000,
        decode_p95_us=3_000,
        frames_captured=300,
        frames_encoded=300,
        frames_dropped=0,
        frames_shown_late=0,
        limited_cpu_us=0,
        limited_bandwidth_us=0,
        limited_other_us=0,
    )
    made.update(columns)
    return made


def call(n: int = 6, *, number: int = 0, **columns: Value) -> list[dict[str, Value]]:
    """The n intervals of one call side."""
    call_id = f"{number:032x}"
    return [
        row(
            **{"call_id": call_id, "interval_index": i, "time_us": START_US + i * INTERVAL_US}
            | columns
        )
        for i in range(n)
    ]


def table(*calls: list[dict[str, Value]]) -> pa.Table:
    """Calls as one checked table."""
    rows: list[Mapping[str, Value]] = [row for one in calls for row in one]
    return table_of(rows)


def many_rows(n: int, *, seed: int, models: int = 400, intervals: int = 30) -> pa.Table:
    """n rows of calls of `intervals` each on many device models, some of the values null."""
    rng = np.random.default_rng(seed)
    of_call = np.arange(n) // intervals
    # The seed keeps the calls of one part apart from those of another.
    ids = np.array([f"{seed:08x}{i:024x}" for i in range(of_call[-1] + 1)])
    model = rng.integers(0, models, of_call[-1] + 1)[of_call]
    speed = 1.0 + model / models * 4
    columns: dict[str, Any] = {
        "schema_version": np.full(n, SCHEMA_VERSION),
        "call_id": ids[of_call],
        "side": np.full(n, "a"),
        "interval_index": np.arange(n) % intervals,
        "time_us": START_US + np.arange(n) * INTERVAL_US,
        "source": np.full(n, "simulated"),
        "simulated": np.full(n, True),
        "device_brand": np.array([f"brand {i % 17}" for i in range(models)])[model],
        "device_model": np.array([f"model {i}" for i in range(models)])[model],
        "soc": np.array([f"soc {i % 60}" for i in range(models)])[model],
        "cores": 4 + model % 5,
        "memory_bytes": (2 + model % 10) << 30,
        "os": np.full(n, "android"),
        "os_version": np.array([f"{9 + i % 6}.0" if i % 7 else "beta" for i in range(models)])[
            model
        ],
        "codec": np.where(rng.random(n) < 0.7, "AV1", "H264"),
        "width": np.full(n, 640),
        "height": np.full(n, 360),
        "fps": rng.uniform(20, 30, n),
        "outcome": np.where(rng.random(n) < 0.5, "good", "bad"),
    }
    for name in ("encode_p50_us", "encode_p95_us", "decode_p50_us", "encode_cpu_us"):
        columns[name] = (rng.gamma(20, 300, n) * speed).astype(np.int64)
    for name in ("frames_captured", "frames_encoded"):
        columns[name] = rng.integers(280, 300, n)
    for name in ("frames_dropped", "frames_shown_late", "limited_cpu_us", "freeze_us"):
        columns[name] = rng.integers(0, 20, n)
    for name in ("cpu_pressure_ratio", "frequency_ratio"):
        columns[name] = rng.random(n)
    arrays = []
    for field in arrow_schema():
        values = columns.get(field.name)
        # A tenth of what may be absent is.
        mask = rng.random(n) < 0.1 if field.nullable and field.name != "device_model" else None
        arrays.append(
            pa.nulls(n, field.type) if values is None else pa.array(values, field.type, mask=mask)
        )
    return pa.table(arrays, schema=arrow_schema())
