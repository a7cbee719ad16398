"""`codecpilot eligibility score` and `export`."""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ...codecs.errors import LocalError
from ...eligibility.fleet.costs import CostTable, read_costs
from ...eligibility.models.client import ClientModel, Device, Request, Score, system_code
from ...eligibility.models.own_costs import slowness_with_preset
from ...eligibility.models.registry import load_client
from ...eligibility.policy import StartPlan, side_report, start_plan
from ..json_file import check_json_path, write_json
from ..text_file import read_text
from .keys import public_key
from .probe import calibrated_slowness
from .progress import bar

SIZES = ((480, 270), (640, 360), (960, 540), (1280, 720))
NUMBERS = ("cores", "memory_gib", "release_year", "os_version", "probe")
TEXTS = ("name", "soc", "os")
FIELDS = ("device", "soc", "rtc_score", "low", "high", "tier", "is_admitted", "evidence", "calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is scored; probe is its measured slowness, None without one."""

    title: str
    device: Device
    probe: float | None = None


def run(args: argparse.Namespace) -> int:
    """Print the scores of a device for several sizes. Raises LocalError."""
    check_json_path(args.json)
    model = load_client(args.model, public_key=public_key(args.key))
    costs = None if args.costs is None else read_costs(args.costs)
    subject = _subject(args, model)
    scores = scores_by_size(model, subject, costs=costs)
    print_scores(Console(highlight=False), model, subject, scores)
    if args.json is not None:
        sizes = [{"size": size, **asdict(score)} for size, score in scores.items()]
        simulated = bool(model.card.get("simulated"))
        values: dict[str, Any] = {
            "device": subject.title,
            "simulated": simulated,
            "probe": subject.probe,
        }
        values["start"] = asdict(start_between(model, subject))
        write_json(args.json, values | {"scores": sizes})
    return 0


def scores_by_size(
    model: ClientModel, subject: Subject, *, costs: CostTable | None = None
) -> dict[str, Score]:
    """Both ways at each size, 30 pictures a second; costs are what the device takes at each size, if measured."""
    scores = {}
    for width, height in SIZES:
        request = Request(px=width * height, receive_px=width * height)
        probe = subject.probe
        if probe is not None and costs is not None:
            slowdown = probe / calibrated_slowness(costs)
            probe = slowness_with_preset(costs, slowdown=slowdown, width=width, height=height)
        score = model.score(subject.device, request=request, probe=probe)
        scores[f"{width}x{height}"] = score
    return scores


def this_machine() -> Subject:
    """Its facts, and a probe of its speed."""
    from ..this_device import device_columns
    from .probe import probe_slowness

    columns = device_columns()
    device = Device.of_columns(columns)
    return Subject(title=f"this machine ({device.name})", device=device, probe=probe_slowness())


def print_scores(
    console: Console, model: ClientModel, subject: Subject, scores: dict[str, Score]
) -> None:
    """For people."""
    first = next(iter(scores.values()))
    label = "; the model was trained on a SIMULATED fleet" if model.card.get("simulated") else ""
    speed = "" if first.slowness is None else f", {1 / first.slowness:.2f} of the reference speed"
    title = f"{subject.title}: {first.tier} tier, by {first.evidence}{speed}{label}"
    console.print(title, soft_wrap=True, markup=False)
    table = Table("both ways, 30 fps", "rtc_score", "90 % interval", "AV1", box=None)
    for size, score in scores.items():
        interval = f"{score.low:.2f} to {score.high:.2f}"
        table.add_row(
            size, f"{score.rtc_score:.3f}", interval, "yes" if score.is_admitted else "no"
        )
    console.print(table)
    start = start_between(model, subject)
    console.print(
        f"a call with another such device begins with {start.codec} {start.preset}, up to "
        f"{start.max_width}x{start.max_height} at {start.max_fps} fps: {start.why}",
        soft_wrap=True,
    )


def start_between(model: ClientModel, subject: Subject) -> StartPlan:
    """How a call between two of these devices begins."""
    side = side_report(model, subject.device, probe=subject.probe)
    return start_plan(side, side)


def export(args: argparse.Namespace) -> int:
    """Write a line for each device model that the model knows. Raises LocalError."""
    model = load_client(args.model, public_key=public_key(args.key))
    try:
        with args.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*FIELDS, "simulated"])
            with bar("devices", total=len(model.names)) as advance:
                for name, soc in zip(model.names, model.socs, strict=True):
                    score = model.score(model.known_device(name))
                    writer.writerow([*_line(name, soc, score), bool(model.card.get("simulated"))])
                    advance(1)
    except OSError as error:
        raise LocalError(f"--out {args.out}: {error.strerror}") from error
    Console(highlight=False).print(f"{len(model.names)} device models in {args.out}", markup=False)
    return 0


def _line(name: str, soc: str, score: Score) -> list[Any]:
    numbers = (f"{value:.4f}" for value in (score.rtc_score, score.low, score.high))
    return [name, soc, *numbers, score.tier, score.is_admitted, score.evidence, score.n_calls]


def _subject(args: argparse.Namespace, model: ClientModel) -> Subject:
    if args.name is not None:
        return Subject(title=args.name, device=model.known_device(args.name))
    if args.device is not None:
        return _read_device(args.device)
    return this_machine()


def _read_device(path: Path) -> Subject:
    try:
        told = json.loads(read_text(str(path)))
        odd = [name for name in TEXTS if not isinstance(told.get(name), str | None)]
        if odd:
            raise LocalError(f"{path}: {odd[0]} is a text")
        unknown = sorted(set(told) - {*NUMBERS, *TEXTS})
        if unknown:
            raise LocalError(f"{path}: {unknown[0]!r} is none of {', '.join((*TEXTS, *NUMBERS))}")
        values: dict[str, Any] = {
            name: float(told[name]) for name in NUMBERS if told.get(name) is not None
        }
        probe = values.pop("probe", None)
        code = system_code(told.get("os"))
        device = Device(name=told.get("name"), soc=told.get("soc"), os_code=code, **values)
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        if isinstance(error, LocalError):
            raise
        raise LocalError(f"{path} does not describe a device: {error}") from error
    wrong = next((name for name, value in values.items() if not 0 <= value < 1e6), None)
    if wrong is not None:
        raise LocalError(f"{path}: {wrong} {values[wrong]} is outside 0..1000000")
    if probe is not None and not 0 < probe < 1e6:
        raise LocalError(f"{path}: probe {probe} is outside 0..1000000")
    return Subject(title=device.name or str(path), device=device, probe=probe)
