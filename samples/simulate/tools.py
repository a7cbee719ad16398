"""The codecs, sources and estimators that a simulated call runs with, which are a live call's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...codecs.av1_presets import PRESETS
from ...codecs.errors import LocalError
from ...codecs.factory import open_decoder, open_encoder
from ...codecs.types import FULL_SIZE, Codec
from ...rtc.adaptation.costs import DEFAULT_COSTS, Cost, CostKey
from ...rtc.connection.remb import RembSource
from ...rtc.simulation.scenario import Scenario
from ...rtc.simulation.tools import Tools
from ..seeds import seeded
from .pictures import Sources
from .stock_codec import StockDecoder, StockEncoder

# ours: a minute for one picture; JSON of Python may say NaN and Infinity, too.
MAX_COST_MS = 60_000


def make_tools(
    scenario: Scenario, *, sources: Sources, costs: Mapping[CostKey, Cost] = DEFAULT_COSTS
) -> Tools:
    """Everything that a run takes from outside; random numbers come from the scenario's seed."""
    return Tools(
        open_encoder=lambda codec, width, height: open_encoder(codec, width=width, height=height),
        open_stock_encoder=StockEncoder,
        open_stock_decoder=StockDecoder,
        open_decoder=open_decoder,
        pictures=sources.open,
        estimator=lambda ssrc, extensions: RembSource(ssrc=ssrc, extensions=extensions),
        generator=seeded(scenario.seed),
        costs=costs,
    )


def read_costs(path: Path) -> dict[CostKey, Cost]:
    """Costs by what `codecpilot doctor --json` wrote: the smallest size's. Raises LocalError."""
    try:
        speeds = json.loads(path.read_text(encoding="utf-8"))["speeds"]
        smallest = min(speed["width"] * speed["height"] for speed in speeds)
        return dict(
            _cost(speed, pixels=smallest)
            for speed in speeds
            if speed["width"] * speed["height"] == smallest
        )
    except OSError as error:
        raise LocalError(f"--costs {path}: {error.strerror}") from error
    except (ArithmeticError, ValueError, KeyError, TypeError) as error:
        raise LocalError(f"--costs {path} is not what codecpilot doctor --json writes") from error


def _cost(speed: Mapping[str, Any], *, pixels: int) -> tuple[CostKey, Cost]:
    """doctor tells of whole pictures; a preset may code them smaller."""
    codec, preset = Codec(speed["codec"]), str(speed["preset"])
    scale = PRESETS[preset].largest_scale if codec is Codec.AV1 else FULL_SIZE
    coded = float(pixels * scale * scale)
    return (codec, preset), Cost(
        encode_ns=_ms(speed["encode_ms"]) * 1e6 / coded,
        decode_ns=_ms(speed["decode_ms"]) * 1e6 / coded,
    )


def _ms(value: Any) -> float:
    if not 0 <= float(value) <= MAX_COST_MS:
        raise ValueError(f"{value} ms")
    return float(value)
