"""`codecpilot eligibility evaluate`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...codecs.errors import LocalError
from ...eligibility.models.calls import read_calls
from ...eligibility.models.evaluation import Evaluation, evaluate
from ...eligibility.models.metrics import Figures
from ...eligibility.models.registry import load_card, load_estimator
from ...eligibility.store import Store
from ..json_file import check_json_path, write_json
from .keys import public_key
from .progress import bar


def run(args: argparse.Namespace) -> int:
    """Judge, print and write. Raises LocalError for a wrong request."""
    check_json_path(args.json)
    if args.report is not None and not args.report.absolute().parent.is_dir():
        raise LocalError(f"--report {args.report}: there is no such folder")
    key = public_key(args.key)
    names = _names(args.models, [_version(load_card(path, public_key=key)) for path in args.models])
    with bar("judging", total=len(names) + 1) as advance:
        estimators = {
            name: load_estimator(path, public_key=key)
            for name, path in zip(names, args.models, strict=True)
        }
        store = Store(args.store)
        calls = read_calls(store.connect())
        advance(1)
        evaluation = evaluate(calls, estimators, on_model=lambda name: advance(1))
    print_results(Console(highlight=False), evaluation)
    if args.json is not None:
        write_json(args.json, _json(evaluation, digest=store.digest()))
    if args.report is not None:
        from .report import write_report

        write_report(args.report, evaluation)
        Console(highlight=False).print(f"report: {args.report}", soft_wrap=True, markup=False)
    return 0


def print_results(console: Console, evaluation: Evaluation) -> None:
    """A table of the figures."""
    good = evaluation.examples.good
    devices = len(set(evaluation.examples.model.tolist()))
    label = "SIMULATED: " if evaluation.calls.simulated else ""
    console.print(
        f"{label}{len(good)} calls of {devices} held-out device models, {good.mean():.0%} good",
        soft_wrap=True,
    )
    table = Table("model", "calls", "AUC", "calibration error", "on AV1 at 2 % bad", box=None)
    for result in evaluation.results:
        rows = {
            "": result.whole,
            "low tier": result.tiers["low"],
            "high tier": result.tiers["high"],
        }
        rows |= {f"unseen, by {start}": of for start, of in result.starts.items()}
        for name, of in rows.items():
            table.add_row(escape(f"{result.name} {name}".strip()), *_cells(of))
        share = result.low_coverage_at_2pct_bad_of_all
        table.add_row(escape(f"{result.name} low tier, 2 % of all"), "", "", "", f"{share:.1%}")
    console.print(table)


def _cells(of: Figures) -> tuple[str, ...]:
    auc = "–" if of.auc is None else f"{of.auc:.4f}"
    return str(of.calls), auc, f"{of.ece:.4f}", f"{of.coverage_at_2pct_bad:.1%}"


def _version(card: dict[str, Any]) -> str:
    """As the card says, whatever it holds."""
    return str(card.get("version"))[:40]


def _names(paths: list[Path], versions: list[str]) -> list[str]:
    """Versions, with the folder where one occurs twice."""
    return [
        version if versions.count(version) == 1 else f"{version} ({path})"
        for path, version in zip(paths, versions, strict=True)
    ]


def _json(evaluation: Evaluation, *, digest: str) -> dict[str, object]:
    return {
        "simulated": evaluation.calls.simulated,
        "data_sha256": digest,
        "held_out_device_models": len(set(evaluation.examples.model.tolist())),
        "models": [result.as_json() for result in evaluation.results],
    }
