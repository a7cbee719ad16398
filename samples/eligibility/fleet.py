"""`codecpilot eligibility simulate-fleet`."""

from __future__ import annotations

import argparse

from rich.console import Console

from ...eligibility.fleet.costs import DEFAULT_COSTS, read_costs
from ...eligibility.fleet.priors import soc_prior
from ...eligibility.fleet.simulate import CALLS_A_PART, FleetRequest, simulate_fleet
from ...eligibility.store import Store
from .progress import bar


def run(args: argparse.Namespace) -> int:
    """Simulate and store. Raises LocalError for a wrong request."""
    costs = DEFAULT_COSTS if args.costs is None else read_costs(args.costs)
    request = FleetRequest(
        devices=args.devices,
        calls=args.calls,
        seed=args.seed,
        costs=costs,
        priors=tuple(soc_prior(path, costs=costs) for path in args.priors),
    )
    store, rows = Store(args.store), 0
    store.prepare()
    with bar("calls", total=args.calls) as advance:
        for table in simulate_fleet(request):
            store.append(table)
            rows += table.num_rows
            advance(CALLS_A_PART)
    Console(highlight=False).print(
        f"SIMULATED: {args.devices} device models, {args.calls} calls, seed {args.seed}: "
        f"{rows} rows in {args.store}",
        soft_wrap=True,
        markup=False,
    )
    return 0
