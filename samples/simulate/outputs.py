"""Writes what a run leaves behind: figures, decisions, tables and the received bitstreams."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from ...codecs.errors import LocalError
from ...codecs.ivf import IvfWriter
from ...codecs.types import Codec
from ...rtc.simulation.call import Direction
from ...rtc.simulation.rates import RateRow, rate_rows
from ...rtc.simulation.records import FrameRecord, PacketRecord
from ...rtc.simulation.run import Run
from ..json_file import write_json


def make_folder(path: Path) -> None:
    """Raises LocalError, before any work, when nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalError(f"--out {path}: {error.strerror}") from error


def write_run(run: Run, summary: dict[str, Any], folder: Path) -> None:
    """All files but the report. Raises LocalError when one cannot be written."""
    directions = list(run.directions.values())
    try:
        write_json(folder / "summary.json", summary)
        events = sorted(run.events.events, key=lambda event: event["time_us"])
        with (folder / "events.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(event) + "\n" for event in events)
        _write_csv(folder / "frames.csv", FrameRecord, (d.recorder.frames for d in directions))
        _write_csv(folder / "packets.csv", PacketRecord, (d.recorder.packets for d in directions))
        _write_csv(folder / "rates.csv", RateRow, (rate_rows(run, d) for d in directions))
        for direction in directions:
            _write_bitstreams(direction, folder)
    except OSError as error:
        raise LocalError(f"cannot write into {folder}: {error.strerror}") from error


def _write_csv(path: Path, kind: type[Any], tables: Iterable[Iterable[Any]]) -> None:
    names = [field.name for field in fields(kind)]
    values = attrgetter(*names)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for table in tables:
            writer.writerows([_cell(value) for value in values(row)] for row in table)


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return round(value, 3) if isinstance(value, float) else value


def _write_bitstreams(direction: Direction, folder: Path) -> None:
    """What each codec's decoder was given: AV1 in IVF, with capture times in us; H.264 in Annex B."""
    name = direction.name.replace("->", "-to-")
    for suffix in (".ivf", ".h264"):  # A run before this one may have had the other codec.
        (folder / f"{name}{suffix}").unlink(missing_ok=True)
    received = direction.recorder.bitstream
    av1 = [(record, f) for record, f in received if f.codec is Codec.AV1]
    h264 = [f for _, f in received if f.codec is Codec.H264]
    if av1:
        width, height = av1[0][0].width or 1, av1[0][0].height or 1
        with (
            (folder / f"{name}.ivf").open("wb") as file,
            IvfWriter(file, width=width, height=height) as writer,
        ):
            for record, frame in av1:
                writer.write(frame.data, timestamp=record.capture_us)
    if h264:
        (folder / f"{name}.h264").write_bytes(b"".join(frame.data for frame in h264))
