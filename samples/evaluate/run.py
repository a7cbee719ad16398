"""A whole run in one process: read, encode, read again, decode, compare."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ...codecs.errors import CodecpilotError
from ...codecs.types import Picture
from .clips import read_pictures
from .encode import encode_run
from .job import Job, Outcome, RunFailure, RunOutput
from .measure import measure_run

Report = Callable[[float], None]
"""Told the part of the run that is done, 0..1."""

# Ours: decoding and comparing take about as long as encoding.
ENCODING_PART = 0.5
REPORT_EVERY = 10


def run_job(job: Job, report: Report | None = None) -> Outcome:
    """Do the run. What goes wrong in it is its outcome, not an exception."""
    try:
        return _run(job, report or _silent)
    except CodecpilotError as error:
        return RunFailure(reason=str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return RunFailure(reason=f"{type(error).__name__}: {error} ({place})")


def _run(job: Job, report: Report) -> RunOutput:
    def pictures(start: float) -> Iterator[Picture]:
        source = read_pictures(job.clip, pictures=job.pictures, options=job.read)
        return _reporting(source, job.pictures, start=start, report=report)

    rows, bitstream = encode_run(job, pictures(0.0))
    captured = pictures(ENCODING_PART)
    quality = measure_run(job, captured=captured, rows=rows, bitstream=bitstream)
    return RunOutput(rows=rows, bitstream=bitstream, quality=quality)


def _reporting(
    pictures: Iterable[Picture], count: int, *, start: float, report: Report
) -> Iterator[Picture]:
    for index, picture in enumerate(pictures):
        if index % REPORT_EVERY == 0:
            report(start + ENCODING_PART * index / count)
        yield picture


def _silent(part: float) -> None:
    """Nobody listens."""
