"""A fleet's telemetry from a seed, in parts of whole calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...codecs.errors import LocalError
from ..outcome import with_outcomes
from .calls import draw_calls
from .costs import DEFAULT_COSTS, CostTable
from .devices import Generator, SimulatedDevice, draw_devices
from .physics import FleetPhysics
from .priors import SocPrior
from .rows import RowWriter

if TYPE_CHECKING:
    import pyarrow as pa

CALLS_A_PART = 2500
"""Ours: about 80 000 rows, 0.3 GB while they are made."""
MAX_DEVICES, MAX_CALLS, MAX_SEED = 100_000, 10_000_000, (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRequest:
    """What to simulate. The same request gives the same rows."""

    devices: int
    calls: int
    seed: int
    costs: CostTable = field(default_factory=lambda: DEFAULT_COSTS)
    priors: Sequence[SocPrior] = ()

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("devices", self.devices, 10, MAX_DEVICES),
            ("calls", self.calls, 1, MAX_CALLS),
            ("seed", self.seed, 0, MAX_SEED),
        ):
            if not least <= value <= most:
                raise LocalError(f"{name} {value} is outside {least}..{most}")


def fleet_devices(request: FleetRequest) -> list[SimulatedDevice]:
    """The device models of the request, hidden properties and all."""
    rng = np.random.default_rng([request.seed, 0])
    return draw_devices(request.devices, rng=rng, priors=request.priors)


def simulate_fleet(request: FleetRequest) -> Iterator[pa.Table]:
    """Telemetry tables of CALLS_A_PART calls each, outcomes by the same rule as of real calls."""
    devices = fleet_devices(request)
    for part, first in enumerate(range(0, request.calls, CALLS_A_PART)):
        count = min(CALLS_A_PART, request.calls - first)
        rng = np.random.default_rng([request.seed, 1 + part])
        yield with_outcomes(_telemetry(count, devices=devices, costs=request.costs, rng=rng))


def _telemetry(
    count: int, *, devices: Sequence[SimulatedDevice], costs: CostTable, rng: Generator
) -> pa.Table:
    import pyarrow as pa

    sides = draw_calls(count, devices=devices, rng=rng)
    call_ids = [rng.bytes(8).hex() for _ in range(count)]
    writer = RowWriter(sides, devices=devices, call_ids=call_ids)
    physics = FleetPhysics(sides, devices=devices, costs=costs, rng=rng)
    return pa.concat_tables([writer.table(interval) for interval in physics.intervals()])
