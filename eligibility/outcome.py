"""Was a call on AV1 good: the label that models learn, from the rows of one side of the call.

Only what the device itself answers for is judged. Freezes and bandwidth are the path's doing, and a
device is not to lose AV1 for its owner's network.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from .schema import COLUMNS, INTERVAL_US, arrow_schema, check_table

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

# Ours: half a minute, so that a few seconds of start-up are not the call.
MIN_INTERVALS = 3
# Ours: 95 of 100 pictures encoded within the time until the next one; above it pictures queue.
MAX_ENCODE_LOAD = 1.0
# Ours: a viewer sees one picture in twenty go missing as jerks (30 fps becomes 28.5).
MAX_DROP_RATIO = 0.05
MAX_LATE_RATIO = 0.05
# Ours: with more of the time limited by the CPU the call was rather a smaller or a coarser one.
MAX_LIMITED_CPU_RATIO = 0.10
# ITU-R BT.1359-1, threshold of acceptability for sound before the picture's lip movement comes
# at 90 ms and after it at 185 ms; the magnitude is recorded, so the wider of the two.
MAX_AV_OFFSET_US = 185_000
# Ours: where bandwidth limited more of the interval than this, pictures were dropped for the path.
MAX_LIMITED_BANDWIDTH_US = INTERVAL_US // 2
# Ours: share of the intervals that must stay within MAX_ENCODE_LOAD and MAX_AV_OFFSET_US.
MIN_HELD_RATIO = 0.9


def with_outcomes(table: pa.Table) -> pa.Table:
    """The table with `outcome` filled from its own rows where none was recorded, ordered by call.

    Per call side: null where it has fewer than MIN_INTERVALS rows on AV1, or where neither encode
    times nor drops are known. "bad" where one of the bounds above is passed, or where the side left
    AV1 for another codec while the CPU limited it. "good" otherwise. What was recorded stands.
    Raises LocalError for a table that check_table refuses.
    """
    import duckdb

    with duckdb.connect() as connection:
        connection.register("telemetry", check_table(table))
        return check_table(connection.sql(_filling_sql()).to_arrow_table())


def outcomes(telemetry: ir.Table) -> ir.Table:
    """The rule as one expression: call_id, side and the outcome recorded, or else judged."""
    import ibis

    side = ibis._
    bounds = [
        _within(side.in_time_ratio, least=MIN_HELD_RATIO),
        _within(side.in_step_ratio, least=MIN_HELD_RATIO),
        _within(side.drop_ratio, most=MAX_DROP_RATIO),
        _within(side.late_ratio, most=MAX_LATE_RATIO),
        _within(side.limited_cpu_ratio, most=MAX_LIMITED_CPU_RATIO),
        ~((side.last_other > side.last_av1) & (side.limited_cpu_ratio > 0.0)).fill_null(False),
    ]
    known = side.in_time_ratio.notnull() | side.drop_ratio.notnull()
    word = ibis.ifelse(ibis.and_(*bounds), "good", "bad")
    return (
        telemetry.group_by("call_id", "side")
        .agg(**_measures(ibis._))
        .mutate(judged=ibis.ifelse((side.n_av1 >= MIN_INTERVALS) & known, word, None))
        .mutate(outcome=ibis.coalesce(side.recorded, side.judged))
        .select("call_id", "side", "outcome")
    )


def is_free_of_path(row: ir.Table) -> ir.Value:
    """Whether the drops of an interval are the device's; where nothing is known they are."""
    return (row.limited_bandwidth_us <= MAX_LIMITED_BANDWIDTH_US).fill_null(True)


@functools.cache
def _filling_sql() -> str:
    """with_outcomes for DuckDB; compiling it takes ten times as long as a call's rows do."""
    import ibis

    rows = ibis.table(ibis.Schema.from_pyarrow(arrow_schema()), name="telemetry")
    judged = outcomes(rows).rename(judged_call="call_id", judged_side="side", judged="outcome")
    same_side = [rows.call_id == judged.judged_call, rows.side == judged.judged_side]
    joined = rows.left_join(judged, same_side)
    filled = joined.mutate(outcome=ibis.coalesce(joined.outcome, joined.judged))
    ordered = filled.order_by("call_id", "side", "interval_index").select(*COLUMNS)
    return str(ibis.to_sql(ordered, dialect="duckdb"))


def _measures(row: ir.Table) -> dict[str, ir.Value]:
    """What the bounds are about, over the AV1 rows of a call side."""
    import ibis

    av1 = row.codec == "AV1"

    def share(part: ir.Value, whole: ir.Value, *, counted: ir.Value = av1) -> ir.Value:
        both = counted & part.notnull() & whole.notnull()
        sums = [ibis.ifelse(both, value.cast("float64"), None).sum() for value in (part, whole)]
        return sums[0] / sums[1].nullif(0.0)

    load = ibis.coalesce(row.encode_p95_us, row.encode_p50_us).cast("float64") * row.fps / 1e6
    in_time = (load <= MAX_ENCODE_LOAD).cast("float64")
    in_step = (row.av_offset_p95_us <= MAX_AV_OFFSET_US).cast("float64")
    limited = row.limited_cpu_us.cast("float64") / INTERVAL_US
    return {
        # "bad" before "good": where rows of a side differ it was not good.
        "recorded": row.outcome.min(),
        "n_av1": ibis.ifelse(av1, 1, 0).sum(),
        "last_av1": ibis.ifelse(av1, row.interval_index, None).max(),
        "last_other": ibis.ifelse(row.codec != "AV1", row.interval_index, None).max(),
        "in_time_ratio": ibis.ifelse(av1, in_time, None).mean(),
        "in_step_ratio": ibis.ifelse(av1, in_step, None).mean(),
        "drop_ratio": share(
            row.frames_dropped, row.frames_captured, counted=av1 & is_free_of_path(row)
        ),
        "late_ratio": share(row.frames_shown_late, row.frames_encoded),
        "limited_cpu_ratio": ibis.ifelse(av1, limited, None).mean(),
    }


def _within(value: ir.Value, *, least: float = 0.0, most: float = math.inf) -> ir.Value:
    """Whether it keeps its bounds; what is not known breaks none."""
    return ((value >= least) & (value <= most)).fill_null(True)
