"""One simulated interval as telemetry rows: what a client of that system would have written, gaps included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schema import INTERVAL_US, SCHEMA_VERSION, arrow_schema
from .calls import Ints, Sides
from .costs import AV1_PRESETS
from .devices import SimulatedDevice
from .physics import Interval

if TYPE_CHECKING:
    import pyarrow as pa

# Which systems let a client see what: /proc/pressure and cpufreq, and the battery of a phone or laptop.
SHOWS_PRESSURE = ("android", "linux", "chromeos")
SHOWS_FREQUENCY = ("android", "linux")
ENCODERS = {True: "libaom", False: "libx264"}


class RowWriter:
    """Turns intervals into Arrow tables. call_ids are hex, one a call."""

    def __init__(
        self, sides: Sides, *, devices: Sequence[SimulatedDevice], call_ids: Sequence[str]
    ) -> None:
        self._sides = sides
        self._calls = np.asarray(call_ids, dtype=object)
        self._told = {name: _told(devices, name) for name in _TOLD}
        self._presets = np.array([*AV1_PRESETS, None], dtype=object)

    def table(self, interval: Interval) -> pa.Table:
        """The rows of all sides that are in their call; outcome is still null."""
        import pyarrow as pa

        columns = {**self._identity(interval), **self._coding(interval), **_counts(interval)}
        columns |= self._health(interval)
        rows = len(interval.side)
        fields = []
        for field in arrow_schema():
            values = columns.get(field.name)
            fields.append(
                pa.nulls(rows, field.type) if values is None else _array(values, field.type)
            )
        return pa.table(fields, schema=arrow_schema())

    def _identity(self, interval: Interval) -> dict[str, Any]:
        side, rows = interval.side, len(interval.side)
        device = self._sides.device[side]
        told = {column: self._told[name][device] for name, column in _TOLD.items()}
        return told | {
            "schema_version": np.full(rows, SCHEMA_VERSION),
            "call_id": self._calls[side // 2],
            "side": np.where(side % 2 == 0, "a", "b").astype(object),
            "interval_index": np.full(rows, interval.index),
            "time_us": self._sides.start_us[side] + interval.index * INTERVAL_US,
            "source": np.full(rows, "simulated", dtype=object),
            "simulated": np.ones(rows, dtype=bool),
        }

    def _coding(self, interval: Interval) -> dict[str, Any]:
        side, sides = interval.side, self._sides
        is_av1 = sides.is_av1[side]
        return {
            "codec": np.where(is_av1, "AV1", "H264").astype(object),
            "encoder": np.where(is_av1, ENCODERS[True], ENCODERS[False]).astype(object),
            "preset": self._presets[interval.preset],
            "width": _even(sides.width[side] * interval.scale),
            "height": _even(sides.height[side] * interval.scale),
            "fps": sides.fps[side],
            "encode_p50_us": interval.encode_p50_us,
            "encode_p95_us": interval.encode_p95_us,
            "decode_p50_us": interval.decode_p50_us,
            "decode_p95_us": interval.decode_p95_us,
            "encode_cpu_us": interval.encode_cpu_us,
        }

    def _health(self, interval: Interval) -> dict[str, Any]:
        os = self._told["os"][self._sides.device[interval.side]]
        noise = np.sin(interval.side * 12.9898 + interval.index * 78.233) * 0.01
        battery = np.where(np.isin(os, ("android", "ios")), interval.battery_ratio, np.nan)
        return {
            "cpu_pressure_ratio": np.where(
                np.isin(os, SHOWS_PRESSURE), np.clip(interval.contention + noise, 0, 1), np.nan
            ),
            "frequency_ratio": np.where(
                np.isin(os, SHOWS_FREQUENCY),
                np.clip(interval.frequency_ratio + noise, 0, 1),
                np.nan,
            ),
            "battery_ratio": battery,
            "on_power": self._sides.on_power[interval.side],
        }


# What a device tells of itself, and the column it stands in.
_TOLD = {
    "brand": "device_brand",
    "model": "device_model",
    "soc": "soc",
    "cores": "cores",
    "memory_bytes": "memory_bytes",
    "os": "os",
    "os_version": "os_version",
    "release_year": "release_year",
}


def _told(devices: Sequence[SimulatedDevice], name: str) -> Any:
    return np.array([getattr(each, name) for each in devices], dtype=object)


def _counts(interval: Interval) -> dict[str, Any]:
    limited = np.where(interval.is_cpu_limited, INTERVAL_US, 0)
    return {
        "frames_captured": interval.captured,
        "frames_encoded": interval.captured - interval.dropped,
        "frames_dropped": interval.dropped,
        "frames_shown_late": interval.late,
        "limited_cpu_us": limited,
        "limited_bandwidth_us": np.zeros(len(limited)),
        "limited_other_us": np.zeros(len(limited)),
        "av_offset_p95_us": interval.av_offset_us,
        "freeze_count": interval.freezes,
        "freeze_us": np.minimum(interval.freeze_us, INTERVAL_US),
    }


def _even(values: Any) -> Ints:
    return (np.asarray(values) / 2).astype(np.int64) * 2


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    """NaN becomes null; whole numbers are rounded."""
    import pyarrow as pa

    if values.dtype == object or values.dtype == bool:
        return pa.array(values, kind)
    if pa.types.is_integer(kind):
        return pa.array(np.rint(values).astype(np.int64), kind)
    return pa.array(values.astype(np.float64), kind, from_pandas=True)
