"""The `doctor` subcommand: what this machine has, how fast it is, and what that means for calls."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from ..eligibility.models.client import ClientModel
    from .machine import Library, Machine, OptionalPart
    from .speed import Speed

EXAMPLES = """examples:
  codecpilot doctor
  codecpilot doctor --json doctor.json
  codecpilot doctor --calibrate talk.mp4 --json costs.json
      what a frame costs here, for codecpilot eligibility simulate-fleet --costs
  codecpilot doctor --model models/v2
      with this machine's rtc_score
"""


def add_parser(subparsers: Any) -> None:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "doctor",
        help="what this machine's codecs can do",
        description="Codec libraries, processor, encode and decode speed, and what that means for "
        "calls. Takes a few seconds.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything here, too")
    parser.add_argument(
        "--calibrate",
        nargs="*",
        metavar="CLIP",
        help="measure costs at four sizes, on these files or on the project's scene",
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="MODEL",
        help="also score this machine by an eligibility model",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the findings. Returns 1 when no AV1 call is possible here."""
    from rich.console import Console

    from .json_file import check_json_path
    from .machine import describe_machine, find_libraries, find_optional_parts
    from .speed import measure_speeds
    from .verdict import verdict

    check_json_path(args.json)
    model = None if args.model is None else _load(args.model)
    console = Console()
    machine, libraries, parts = describe_machine(), find_libraries(), find_optional_parts()
    _print_machine(console, machine)
    _print_libraries(console, libraries)
    speeds: list[Speed] = []
    if not any(library.problem for library in libraries if "AV1" in library.role):
        with console.status("measuring …"):
            speeds = measure_speeds()
        _print_speeds(console, speeds)
    costs = [] if args.calibrate is None else _calibrate(console, args.calibrate)
    _print_parts(console, parts)
    scored = {} if model is None else _print_scores(console, model)
    words = verdict(speeds, libraries=libraries, cores=machine.usable_cores)
    console.print("\n".join(words), style="bold", highlight=False)
    if args.json is not None:
        _write(args.json, machine, libraries, parts, speeds, words, {"costs": costs, **scored})
    return 0 if speeds else 1


def _print_machine(console: Console, machine: Machine) -> None:
    flags = ", ".join(machine.flags) or "unknown"
    packages = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    gib = 1 << 30
    console.print(
        f"{machine.processor}, {machine.usable_cores:g} of {machine.logical_cores} cores usable "
        f"({flags})\n{machine.memory_bytes / gib:.1f} GiB memory, "
        f"{machine.free_memory_bytes / gib:.1f} GiB free\n"
        f"{machine.system}, Python {machine.python}\n{packages}\n",
        highlight=False,
    )


def _print_libraries(console: Console, libraries: list[Library]) -> None:
    for library in libraries:
        where = library.problem or library.path or "in PyAV"
        style = "red" if library.problem else ""
        console.print(
            f"{library.role:14} {library.name:18} {where}",
            style=style,
            highlight=False,
            soft_wrap=True,
            markup=False,
        )
    console.print()


def _print_speeds(console: Console, speeds: list[Speed]) -> None:
    from rich.table import Table

    table = Table(title="CPU time a frame, one thread, ms", title_justify="left")
    sizes = list(dict.fromkeys((speed.width, speed.height) for speed in speeds))
    table.add_column("")
    for width, height in sizes:
        table.add_column(f"{width}x{height} encode", justify="right")
        table.add_column("decode", justify="right")
    for codec, preset in dict.fromkeys((speed.codec, speed.preset) for speed in speeds):
        row = [s for s in speeds if (s.codec, s.preset) == (codec, preset)]
        name = f"{codec} {preset}" if codec == "AV1" else codec
        cells = [f"{value:.1f}" for s in row for value in (s.encode_ms, s.decode_ms)]
        table.add_row(name, *cells)
    console.print(table)


def _load(path: Path) -> ClientModel:
    from ..eligibility.models.registry import load_client
    from .eligibility.keys import public_key

    return load_client(path, public_key=public_key(None))


def _calibrate(console: Console, clips: list[str]) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from .calibration import calibrate, steps
    from .eligibility.progress import bar

    with bar("calibrating", total=steps(clips)) as advance:
        costs = calibrate(clips, on_step=lambda: advance(1))
    console.print(f"costs of {len(costs)} codecs, presets and sizes measured; --json keeps them\n")
    return [asdict(cost) for cost in costs]


def _print_scores(console: Console, model: ClientModel) -> dict[str, Any]:
    from dataclasses import asdict

    from .eligibility.scoring import print_scores, scores_by_size, start_between, this_machine

    subject = this_machine()
    scores = scores_by_size(model, subject)
    print_scores(console, model, subject, scores)
    console.print()
    return {
        "scores": {size: asdict(score) for size, score in scores.items()},
        "start": asdict(start_between(model, subject)),
    }


def _print_parts(console: Console, parts: list[OptionalPart]) -> None:
    for part in parts:
        state = "here" if not part.missing else f"not here: {part.missing}"
        line = f"{part.name} (for {part.purpose}): {state}"
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    console.print()


def _write(
    path: Path,
    machine: Machine,
    libraries: list[Library],
    parts: list[OptionalPart],
    speeds: list[Speed],
    words: list[str],
    asked: dict[str, Any],
) -> None:
    from dataclasses import asdict

    from .json_file import write_json
    from .version import codecpilot_version

    report = {
        "version": codecpilot_version(),
        "machine": asdict(machine),
        "libraries": [asdict(library) for library in libraries],
        "optional": [asdict(part) for part in parts],
        "speeds": [asdict(speed) for speed in speeds],
        "verdict": words,
        # What only some ask for.
        **{name: values for name, values in asked.items() if values},
    }
    write_json(path, report)
