"""The `simulate` subcommand: its options, and what they set of a scenario."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..link_options import add_link_arguments, link_values, option_values

if TYPE_CHECKING:
    from ...rtc.simulation.scenario import Table

# Each option beside the link's, and the key that it sets; --set reaches every key.
OPTIONS = {
    "source": ("source", "FILE|synthetic", "what both peers send (default: the drawn scene)"),
    "size": ("size", "WxH", "of the pictures (default: 640x360)"),
    "fps": ("fps", "N", "pictures a second (default: 30)"),
    "seconds": ("seconds", "N", "of virtual time (default: 30)"),
    "seed": ("seed", "N", "of everything random (default: 1)"),
}

# Of --ablation: each option's default, and what it is.
ABLATION_OPTIONS: dict[str, tuple[str | int | None, str, str]] = {
    "losses": ("0,1,2,5,10,20", "P,...", "percent lost both ways, of --ablation"),
    "rtts": ("40,100,300", "MS,...", "round-trip times, of --ablation"),
    "seeds": (1, "N", "of each run of --ablation, from --seed on (default: 1)"),
    "stacks": (None, "A,B,...", "rows of --ablation, such as all,no-fec,nack,key (default: all)"),
}

# Of --device-sweep.
SWEEP_OPTIONS: dict[str, tuple[str | None, str, str]] = {
    "sizes": ("640x360,1280x720", "WxH,...", "of a's pictures, of --device-sweep"),
    "ways": (
        None,
        "A,B,...",
        "rows of --device-sweep, such as adaptive,default,h264 (default: all)",
    ),
}

# ours: nobody scores less than that; libvmaf's n_subsample is an int.
MAX_VMAF_EVERY = 1_000_000

EXAMPLES = """scenario files are TOML with the keys of --set; options and --set stand above them:
  rate = "0:600,10:150"
  loss = 0.02
  [a]                                        one peer, "a" or "b"
  device = "0:1,20:4,60:1"
  [ba]                                       one direction, "ab" or "ba"
  loss = "5:1,8:0"

examples:
  codecpilot simulate --rate 600 --delay 50 --loss 0.02 --out out/
      a call of 30 s over a lossy link; open out/report.html
  codecpilot simulate --trace Verizon-EVDO-driving.down --queue 500 --out out/
      a recorded cellular link
  codecpilot simulate --set a.device="0:1,10:4,20:1" --out out/
      peer a's device is four times slower between 10 and 20 s
  codecpilot simulate --rate 800 --loss 0.05 --set stack=aiortc --out out/
      stock aiortc on the same link
  codecpilot simulate --policies codecpilot,gcc,aiortc --traces *.down --seconds 120 --out out/
      what each makes of recorded cellular links, in one table
  codecpilot simulate --ablation --burst 1,4 --seeds 5 --rate 800 --seconds 60 --out out/
      what each means against loss is worth, over losses and round-trip times
  codecpilot simulate --device-sweep 0.5:8:0.05 --seconds 30 --out out/
      adaptation against fixed presets, on devices from twice as fast to 8 times slower, by steps of 5 %
  codecpilot simulate --compare ours.toml aiortc.toml --rate 800 --out out/
      two policies on the same link and seed, side by side
"""


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "simulate",
        help="a whole call in virtual time, over an emulated link",
        description="Two peers call each other in virtual time: the code of a live call, real codecs "
        "and pictures, an emulated link. The same scenario and seed give the same result to the bit.",
        epilog=EXAMPLES + "\n" + _key_help(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", nargs="?", type=Path, metavar="SCENARIO.toml")
    for option, (_, metavar, text) in OPTIONS.items():
        parser.add_argument(f"--{option}", metavar=metavar, help=text)
    add_link_arguments(parser)
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="any key; see below"
    )
    _add_many_arguments(parser)
    parser.add_argument(
        "--costs", type=Path, metavar="FILE", help="device costs from codecpilot doctor --json"
    )
    parser.add_argument(
        "--vmaf-every",
        type=int,
        default=5,
        metavar="N",
        help="score every nth picture, with the evaluation extra (default: 5; 0: none)",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where results go")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check everything, then simulate. Raises LocalError for a wrong request."""
    from ...codecs.errors import LocalError
    from .compare import compare
    from .single import prepare, simulate_into

    if not 0 <= args.vmaf_every <= MAX_VMAF_EVERY:
        raise LocalError(f"--vmaf-every {args.vmaf_every} is outside 0..{MAX_VMAF_EVERY}")
    if args.compare and args.scenario:
        raise LocalError("--compare takes its two scenarios alone")
    if args.traces and not args.policies:
        raise LocalError("--traces needs --policies, such as --policies codecpilot,gcc")
    if sum(map(bool, (args.policies, args.compare, args.ablation, args.device_sweep))) > 1:
        raise LocalError("--policies, --compare, --ablation and --device-sweep exclude each other")
    _check_needed(args, ABLATION_OPTIONS, needs="ablation")
    _check_needed(args, SWEEP_OPTIONS, needs="device_sweep")
    if args.policies or args.ablation or args.device_sweep:
        _check_workers(args)
    if args.device_sweep:
        from .device_sweep import sweep_devices

        return sweep_devices(_table(args.scenario, args), args)
    if args.ablation:
        return _ablate(args)
    if args.policies:
        return _compare_policies(args)
    if args.compare:
        tables = [_table(path, args) for path in args.compare]
        return compare(args.compare, tables, args)
    simulate_into(prepare(_table(args.scenario, args), args), args.out)
    return 0


def _add_many_arguments(parser: argparse.ArgumentParser) -> None:
    """Several runs for one request."""
    parser.add_argument(
        "--compare", nargs=2, type=Path, metavar=("A.toml", "B.toml"), help="run two side by side"
    )
    parser.add_argument(
        "--policies",
        metavar="A,B,...",
        help="run each of codecpilot, gcc, remb, none, nack, key, aiortc, and tabulate what a sends to b",
    )
    parser.add_argument(
        "--traces",
        nargs="+",
        default=[],
        type=Path,
        metavar="FILE",
        help="run each policy over each Mahimahi trace from a to b",
    )
    parser.add_argument(
        "--ablation",
        action="store_true",
        help="run each means against loss alone and taken away, and tabulate what a sends to b",
    )
    parser.add_argument(
        "--device-sweep",
        metavar="FROM:TO:STEP",
        help="run adaptation and each fixed preset on devices of these factors; 0.05 is steps of 5 %%",
    )
    for option, (default, metavar, text) in {**ABLATION_OPTIONS, **SWEEP_OPTIONS}.items():
        parser.add_argument(
            f"--{option}", default=default, type=type(default or ""), metavar=metavar, help=text
        )
    parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="runs at a time of many: 1 or 2"
    )


def _compare_policies(args: argparse.Namespace) -> int:
    from ...codecs.errors import LocalError
    from .policies import POLICIES, compare_policies

    names = [name.strip() for name in args.policies.split(",")]
    for name in names:
        if name not in POLICIES or names.count(name) > 1:
            raise LocalError(f"--policies {args.policies!r}: each once of {', '.join(POLICIES)}")
    table = _table(args.scenario, args)
    return compare_policies(names, traces=args.traces, table=table, args=args)


def _ablate(args: argparse.Namespace) -> int:
    from .ablation import ablate

    table = _table(args.scenario, args)
    # Bursts, losses and delays are the grid's.
    table.pop("burst", None)
    return ablate(table, args)


def _check_needed(
    args: argparse.Namespace, options: Mapping[str, tuple[Any, str, str]], *, needs: str
) -> None:
    """An option that would do nothing is refused."""
    from ...codecs.errors import LocalError

    for option, (default, *_) in options.items():
        if not getattr(args, needs) and getattr(args, option) != default:
            raise LocalError(f"--{option} needs --{needs.replace('_', '-')}")


def _check_workers(args: argparse.Namespace) -> None:
    from ...codecs.errors import LocalError
    from .runs import MAX_WORKERS

    if not 1 <= args.workers <= MAX_WORKERS:
        raise LocalError(f"--workers {args.workers} is outside 1..{MAX_WORKERS}")


def _table(path: Path | None, args: argparse.Namespace) -> Table:
    """A scenario's values: the file's, then the options', then those of --set."""
    from ...codecs.errors import LocalError
    from ...rtc.simulation.scenario import parse_toml, set_value
    from ..text_file import read_text

    values = {} if path is None else parse_toml(read_text(str(path)))
    for key, value in {**option_values(args, OPTIONS), **link_values(args)}.items():
        set_value(values, key, value)
    for setting in args.set:
        key, equals, value = setting.partition("=")
        if not equals:
            raise LocalError(f"--set {setting!r} is not KEY=VALUE")
        set_value(values, key.strip(), value.strip())
    return values


def _key_help() -> str:
    """Every key; importing the simulator for it would slow each run of the command down."""
    return (
        "keys: seconds seed calls calls_start_s psnr; of peers: source size fps stack cc codec preset\n"
        "adaptation cpu_budget rtc_score content target_kbps recovery temporal_layers fec nack ltr\n"
        "ltr_proactive descriptor device av1_encode av1_decode battery clock_ppm wall_error_ms audio_kbps;\n"
        "of links: rate trace delay_ms jitter_ms reorder reorder_ms loss burst queue_ms queue_bytes cross.\n"
        "A key holds for both peers or directions; a.KEY, b.KEY, ab.KEY and ba.KEY for one. A wrong value\n"
        "says what is legal.\n"
        "recovery is codecpilot, nack (retransmission, in the end a key frame) or key (key frames alone);\n"
        "temporal_layers, fec, nack, ltr, ltr_proactive are off, on or auto, whatever recovery says.\n"
        "cc is how a sender finds its rate: codecpilot and gcc follow transport-wide feedback (gcc with\n"
        "libwebrtc's constants), remb what the receiver estimates, none target_kbps alone.\n"
        "cross=0:0,10:1 is one long TCP-like flow from 10 s on; calls=2 holds two calls on the link.\n"
        "The fastest: preset=ultralow psnr=false b.size=64x64 b.fps=10, with --vmaf-every 0."
    )
