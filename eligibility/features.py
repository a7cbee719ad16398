"""Telemetry to features: one Ibis expression, the same on DuckDB and on Spark.

Two stages of grouping, sums and quantiles alone: rows of a call side, then call sides of a device
model. Nothing is joined or sorted, so memory follows the number of calls and not that of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .outcome import is_free_of_path
from .schema import INTERVAL_US

if TYPE_CHECKING:
    import ibis.expr.types as ir

DEVICE_KEYS = ("device_model", "device_brand", "soc")
"""What makes a device model: the same name under two brands or on two chips is two."""
HARDWARE = ("cores", "memory_bytes", "release_year", "os", "os_version")
"""Facts known before any call; os_version is the major number."""
SIGNALS = (
    "encode_load",
    "encode_load_p95",
    "encode_ns_px",
    "encode_cpu_ns_px",
    "h264_encode_ns_px",
    "decode_load",
    "drop_ratio",
    "late_ratio",
    "limited_cpu_ratio",
    "throttle",
    "pressure",
    "frequency",
    "freeze_ratio",
)
"""What its calls showed; null where no row tells."""
LABELS = ("n_good", "n_bad", "good_ratio")
OUTPUT = (
    *DEVICE_KEYS,
    "n_calls",
    "n_intervals",
    *HARDWARE,
    *SIGNALS,
    *LABELS,
    "simulated",
    "time_us",
)
"""Columns of device_features, in order. time_us is the start of the last interval."""

# Ours: a line through fewer intervals than this says nothing of throttling.
MIN_THROTTLE_INTERVALS = 4


def call_features(telemetry: ir.Table) -> ir.Table:
    """One row a call side of a known device model: its keys, hardware, signals and outcome.

    `telemetry` is a table in the schema. encode_load and decode_load are shares of the time a
    picture has, encode_*_ns_px are ns a pixel, throttle is the fitted growth of the encode time
    from the call's beginning to its end against its mean, the rest are shares 0..1. What concerns
    encoding comes from AV1 rows, but h264_encode_ns_px.
    """
    import ibis

    return (
        _with_costs(telemetry.filter(ibis._.device_model.notnull()))
        .group_by(*DEVICE_KEYS, "call_id", "side")
        .agg(**_call_sums(ibis._))
        .mutate(**_call_ratios(ibis._))
        .select(*DEVICE_KEYS, "call_id", "side", *_CALL_COLUMNS)
    )


def device_features(telemetry: ir.Table) -> ir.Table:
    """One row a device model with the columns OUTPUT; to leave calls out, filter `telemetry`.

    Signals are means over its calls (each call counts the same, however long), encode_load_p95 the
    95th percentile of encode_load over its calls. n_good and n_bad count calls with an outcome, and
    good_ratio is null where there are none.
    """
    import ibis

    call = ibis._
    means = [name for name in SIGNALS if name != "encode_load_p95"]
    known = {name: call[name].max() for name in HARDWARE if name != "release_year"}
    return (
        call_features(telemetry)
        .group_by(*DEVICE_KEYS)
        .agg(
            n_calls=call.count(),
            n_intervals=call.n_intervals.sum().cast("int64"),
            release_year=call.release_year.min(),
            encode_load_p95=call.encode_load.quantile(0.95),
            n_good=call.good.sum().cast("int64"),
            n_bad=call.bad.sum().cast("int64"),
            simulated=call.simulated.max(),
            time_us=call.time_us.max(),
            **known,
            **{name: call[name].mean() for name in means},
        )
        .mutate(
            good_ratio=_share(call.n_good, call.n_good + call.n_bad),
            simulated=call.simulated == 1,
        )
        .select(*OUTPUT)
    )


_CALL_COLUMNS = (
    "n_intervals",
    *HARDWARE,
    *(name for name in SIGNALS if name != "encode_load_p95"),
    "good",
    "bad",
    "simulated",
    "time_us",
)


def _with_costs(rows: ir.Table) -> ir.Table:
    """Costs of each interval: load as a share of real time, ns a pixel; null off their codec."""
    import ibis

    row = ibis._
    typical_us = row.encode_p50_us.cast("float64")
    pixels = (row.width * row.height).cast("float64")
    ns_px = typical_us * 1000.0 / pixels.nullif(0.0)
    slow_us = ibis.coalesce(row.encode_p95_us, row.encode_p50_us).cast("float64")
    slow_decode_us = ibis.coalesce(row.decode_p95_us, row.decode_p50_us).cast("float64")
    av1, h264 = row.codec == "AV1", row.codec == "H264"
    cpu_ns_px = row.encode_cpu_us.cast("float64") * 1000.0 / pixels.nullif(0.0)
    return rows.mutate(
        load=ibis.ifelse(av1, slow_us * row.fps / 1e6, None),
        decode_share=slow_decode_us * row.fps / 1e6,
        ns_px=ibis.ifelse(av1, ns_px, None),
        cpu_ns_px=ibis.ifelse(av1, cpu_ns_px, None),
        h264_ns_px=ibis.ifelse(h264, ns_px, None),
        # Only where the encode time stands too, so that the line's sums are over the same rows.
        x=ibis.ifelse(av1 & ns_px.notnull(), row.interval_index.cast("float64"), None),
        major=row.os_version.re_extract("^([0-9]{1,6})", 1).nullif("").cast("int64"),
    )


def _call_sums(row: ir.Table) -> dict[str, ir.Value]:
    """What is summed over the intervals of a call side."""
    return {
        **_sums(row, "frames_dropped", "frames_captured", where=is_free_of_path(row)),
        **_sums(row, "frames_shown_late", "frames_encoded", where=True),
        "n_intervals": row.count(),
        "os": row.os.max(),
        # As float, so that an absent one is NaN to an estimator.
        "cores": row.cores.max().cast("float64"),
        "memory_bytes": row.memory_bytes.max().cast("float64"),
        # A model is sold for years under updates: what is oldest is when it came out.
        "release_year": row.release_year.min().cast("float64"),
        "os_version": row.major.max().cast("float64"),
        "encode_load": row.load.mean(),
        "decode_load": row.decode_share.mean(),
        "encode_ns_px": row.ns_px.mean(),
        "encode_cpu_ns_px": row.cpu_ns_px.mean(),
        "h264_encode_ns_px": row.h264_ns_px.mean(),
        "limited_cpu_ratio": row.limited_cpu_us.cast("float64").mean() / INTERVAL_US,
        "freeze_ratio": row.freeze_us.cast("float64").mean() / INTERVAL_US,
        "pressure": row.cpu_pressure_ratio.mean(),
        "frequency": row.frequency_ratio.mean(),
        "n_timed": row.x.count(),
        "sum_x": row.x.sum(),
        "sum_xx": (row.x * row.x).sum(),
        "sum_y": row.ns_px.sum(),
        "sum_xy": (row.x * row.ns_px).sum(),
        "span_x": row.x.max() - row.x.min(),
        "good": (row.outcome == "good").cast("int64").max(),
        "bad": (row.outcome == "bad").cast("int64").max(),
        "simulated": row.simulated.cast("int64").max(),
        "time_us": row.time_us.max(),
    }


def _sums(row: ir.Table, *names: str, where: ir.Value | bool) -> dict[str, ir.Value]:
    """The sums of counters over the rows that know all of them."""
    import ibis

    known = ibis.and_(where, *(row[name].notnull() for name in names))
    return {name: ibis.ifelse(known, row[name].cast("float64"), None).sum() for name in names}


def _call_ratios(call: ir.Table) -> dict[str, ir.Value]:
    """What is divided once a call is summed up."""
    import ibis

    spread = call.n_timed * call.sum_xx - call.sum_x * call.sum_x
    slope = (call.n_timed * call.sum_xy - call.sum_x * call.sum_y) / spread.nullif(0.0)
    mean = (call.sum_y / call.n_timed.nullif(0)).nullif(0.0)
    growth = slope * call.span_x / mean
    return {
        "drop_ratio": _share(call.frames_dropped, call.frames_captured),
        # What a receiver shows is not counted, so what it sends stands for what it is sent.
        "late_ratio": _share(call.frames_shown_late, call.frames_encoded),
        "limited_cpu_ratio": _at_most_one(call.limited_cpu_ratio),
        "freeze_ratio": _at_most_one(call.freeze_ratio),
        "throttle": ibis.ifelse(call.n_timed >= MIN_THROTTLE_INTERVALS, growth, None),
        # A call has one outcome; where rows differ it was not good.
        "bad": ibis.coalesce(call.bad, 0),
        "good": ibis.ifelse(ibis.coalesce(call.bad, 0) == 1, 0, ibis.coalesce(call.good, 0)),
    }


def _share(part: ir.Value, whole: ir.Value) -> ir.Value:
    """part / whole within 0..1, null where the whole is 0."""
    return _at_most_one(part.cast("float64") / whole.cast("float64").nullif(0.0))


def _at_most_one(ratio: ir.Value) -> ir.Value:
    """The ratio cut at 1; least() would make 1 of null."""
    import ibis

    return ibis.ifelse(ratio > 1.0, 1.0, ratio)
