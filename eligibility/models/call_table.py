"""The calls of a store as models learn from them: one row a call side, its signals, and what was asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..features import call_features
from ..fleet.costs import DEFAULT_COSTS, H264, CostTable

if TYPE_CHECKING:
    import ibis.expr.types as ir

UNNAMED_PRESET = "default"
"""What an AV1 encoder that names no preset is taken for."""


def training_calls(telemetry: ir.Table, *, costs: CostTable = DEFAULT_COSTS) -> ir.Table:
    """call_features, and of each call side what was asked, what it received and how slow it was.

    asked_px is the largest size sent: calls begin with the size asked for. slowness is the encode time
    over that of the reference machine for the same codec, preset and size, mean over intervals;
    first_slowness that of the first interval alone, about what a probe at call set-up would find.
    receive_px and receive_fps are what the other side was asked for, null where it left no rows.
    """
    import ibis

    request = _requests(telemetry, costs)
    other = request.select(
        "call_id",
        side=ibis.ifelse(request.side == "a", "b", "a"),
        receive_px=request.asked_px,
        receive_fps=request.fps,
    )
    both = request.left_join(other, ["call_id", "side"]).drop("call_id_right", "side_right")
    return call_features(telemetry).join(both, ["call_id", "side"])


def _requests(telemetry: ir.Table, costs: CostTable) -> ir.Table:
    import ibis

    row = ibis._
    return (
        telemetry.mutate(slow=_slowness(telemetry, costs))
        .group_by("call_id", "side")
        .agg(
            asked_px=(row.width * row.height).max().cast("float64"),
            fps=row.fps.max(),
            on_power=row.on_power.cast("int64").max().cast("float64"),
            battery=row.battery_ratio.max(),
            slowness=row.slow.mean(),
            first_slowness=row.slow.argmin(row.interval_index),
        )
    )


def _slowness(rows: ir.Table, costs: CostTable) -> ir.Value:
    """Encode time of an interval over the reference machine's; null for other codecs than ours."""
    import ibis

    name = ibis.ifelse(rows.codec == H264, H264, rows.preset.fill_null(UNNAMED_PRESET))
    usual = costs[UNNAMED_PRESET]
    fixed_us = name.cases(
        *((key, cost.encode_fixed_us) for key, cost in costs.items()), else_=usual.encode_fixed_us
    )
    ns_px = name.cases(
        *((key, cost.encode_ns_px) for key, cost in costs.items()), else_=usual.encode_ns_px
    )
    reference_us = fixed_us + ns_px * (rows.width * rows.height).cast("float64") / 1000.0
    slowness = rows.encode_p50_us.cast("float64") / reference_us
    return ibis.ifelse(rows.codec.isin(("AV1", H264)), slowness, None)
