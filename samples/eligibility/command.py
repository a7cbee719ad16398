"""The `eligibility` subcommand: which devices get AV1, from their calls to a score."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLES = """examples:
  codecpilot eligibility ingest dumps/ --store calls/
      getStats and rtcstats dumps, webrtc-internals files, CSV and Parquet, into a store
  codecpilot eligibility simulate-fleet --devices 1000 --calls 40000 --seed 1 --store fleet/
      a simulated fleet's telemetry, to try the rest with
  codecpilot eligibility train --store fleet/ --version v2 --out models/v2
  codecpilot eligibility evaluate --store fleet/ models/v2 models/v1.1 --report report.html
      on device models that no training saw
  codecpilot eligibility score models/v2 --this
      this machine, by a probe of its speed
"""
DEVICE_HELP = (
    "a JSON file with any of name, soc, cores, memory_gib, release_year, os, os_version, and probe "
    "(encode time over the reference machine's)"
)


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand and its own."""
    parser = subparsers.add_parser(
        "eligibility",
        help="which devices get AV1: telemetry, training, scores",
        description="Learns from the statistics of calls which devices hold a real-time AV1 call of good "
        "quality. What a simulated fleet says is labelled as simulated wherever it appears.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=type(parser)
    )
    for add in (_ingest, _simulate_fleet, _train, _evaluate, _score, _export, _compare):
        add(commands)


def _ingest(commands: Any) -> None:
    parser = commands.add_parser("ingest", help="read dumps of call statistics into a store")
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="files, or folders of them"
    )
    _store(parser, "where the rows go; made when it is not there")
    _runs(parser, ".ingesting")


def _simulate_fleet(commands: Any) -> None:
    parser = commands.add_parser("simulate-fleet", help="telemetry of a simulated fleet of devices")
    parser.add_argument(
        "--devices", type=int, default=1000, metavar="N", help="models (default: 1000)"
    )
    parser.add_argument("--calls", type=int, default=40_000, metavar="M", help="default: 40000")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="default: 1")
    _store(parser, "where the rows go; made when it is not there")
    parser.add_argument(
        "--costs", type=Path, metavar="FILE", help="from codecpilot doctor --calibrate --json FILE"
    )
    parser.add_argument(
        "--priors",
        nargs="+",
        default=[],
        type=Path,
        metavar="XML",
        help="Android media_codecs_performance files: their processors are part of the fleet",
    )
    _runs(parser, ".fleet")


def _train(commands: Any) -> None:
    parser = commands.add_parser("train", help="learn a model from a store")
    _store(
        parser, "calls to learn from; a quarter of the device models is held out, by their names"
    )
    parser.add_argument(
        "--version",
        default="v2",
        metavar="V",
        help="heuristic, heuristic-size, v1.1 or v2 (default)",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="MODEL", help="a folder")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument(
        "--base",
        type=Path,
        metavar="MODEL",
        help="say which devices change side against this model",
    )
    parser.add_argument(
        "--sign", type=Path, metavar="KEY", help="Ed25519 private key (PEM) to sign the model with"
    )
    _key(parser)
    _runs(parser, ".training")


def _evaluate(commands: Any) -> None:
    parser = commands.add_parser(
        "evaluate", help="judge models on device models that none has seen"
    )
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    _store(parser, "calls to judge by")
    parser.add_argument("--report", type=Path, metavar="HTML", help="write a report here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    _key(parser)
    _runs(parser, ".judging")


def _score(commands: Any) -> None:
    parser = commands.add_parser("score", help="the score of a device, or of this machine")
    parser.add_argument("model", type=Path, metavar="MODEL")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--device", type=Path, metavar="FILE", help=DEVICE_HELP)
    which.add_argument("--name", metavar="NAME", help="a device model that the model knows")
    which.add_argument("--this", action="store_true", help="this machine (default), by a probe")
    parser.add_argument(
        "--costs",
        type=Path,
        metavar="FILE",
        help="what frames take on the device, from codecpilot doctor --calibrate --json FILE: each "
        "size by its own",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scores here, too")
    _key(parser)
    _runs(parser, ".scoring")


def _export(commands: Any) -> None:
    parser = commands.add_parser("export", help="the scores of all device models as CSV")
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("--out", required=True, type=Path, metavar="CSV")
    _key(parser)
    _runs(parser, ".scoring", "export")


def _compare(commands: Any) -> None:
    parser = commands.add_parser("compare", help="which devices change side between two models")
    parser.add_argument("before", type=Path, metavar="MODEL_A")
    parser.add_argument("after", type=Path, metavar="MODEL_B")
    _key(parser)
    _runs(parser, ".comparing")


def _store(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--store", required=True, type=Path, metavar="DIR", help=text)


def _key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--key",
        type=Path,
        metavar="KEY",
        help="Ed25519 public key (PEM) that models must be signed with "
        "(default: the file that CODECPILOT_MODEL_KEY names, if any)",
    )


def _runs(parser: argparse.ArgumentParser, module: str, function: str = "run") -> None:
    """Import the module once the command is chosen: it needs what others do not."""

    def run(args: argparse.Namespace) -> int:
        import importlib

        chosen: Callable[[argparse.Namespace], int] = getattr(
            importlib.import_module(module, __package__), function
        )
        return chosen(args)

    parser.set_defaults(run=run)
