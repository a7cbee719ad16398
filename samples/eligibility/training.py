"""`codecpilot eligibility train`."""

from __future__ import annotations

import argparse

from rich.console import Console

from ...eligibility.models.calls import read_calls
from ...eligibility.models.evaluation import evaluate
from ...eligibility.models.registry import load_client, save
from ...eligibility.models.trained import train
from ...eligibility.store import Store
from .comparing import print_comparison
from .judging import print_results
from .keys import public_key, read_key
from .progress import bar


def run(args: argparse.Namespace) -> int:
    """Train, judge on what was held out, and save. Raises LocalError for a wrong request."""
    from dataclasses import replace

    private_key = None if args.sign is None else read_key(args.sign)
    base = None if args.base is None else load_client(args.base, public_key=public_key(args.key))
    store, console = Store(args.store), Console(highlight=False)
    with bar("training", total=4) as advance:
        digest, telemetry = store.digest(), store.connect()
        calls = read_calls(telemetry)
        advance(1)
        model = train(calls, version=args.version, data_digest=digest, seed=args.seed)
        advance(2)
        evaluation = evaluate(calls, {args.version: model.estimator})
        card = {**model.card, "held_out": evaluation.results[0].as_json()}
        save(replace(model, card=card), args.out, private_key=private_key)
        advance(1)
    print_results(console, evaluation)
    console.print(f"model: {args.out}", soft_wrap=True, markup=False)
    if base is not None:
        print_comparison(console, base, load_client(args.out))
    return 0
