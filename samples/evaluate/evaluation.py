"""An evaluation from its request to its files: clips are looked through, runs done, results written."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

from ...codecs.errors import CodecpilotError, LocalError
from ...codecs.vmaf import INSTALL_EVALUATION
from ...codecs.vmaf import MIN_SIDE_PX as VMAF_MIN_SIDE_PX
from ..cli import EXIT_INTERRUPTED
from .clips import Clip, inspect_clips, pictures_of_run
from .codec_specs import CodecSpec
from .dask_pool import run_on_dask
from .job import Job, Outcome, RunFailure
from .options import Request
from .pool import run_in_processes
from .progress import Board
from .rates import US_PER_S, Rates
from .report import write_report
from .results import FinishedRun, write_run
from .summary import Evaluation, Failed, results_json

EXIT_RUN_FAILED = 1


def evaluate(request: Request) -> int:
    """Do all runs and write all files; returns the exit code: 0, 1 when a run failed, 130 after Ctrl-C.

    Raises LocalError, before anything is encoded, for a request that cannot be carried out.
    """
    _check_metrics(request)
    _check_out(request.out)
    with Board() as board:
        try:
            return _evaluate(request, board)
        except KeyboardInterrupt:
            board.say("interrupted: the runs that had ended keep their files, there is no report")
            return EXIT_INTERRUPTED


def plan_jobs(request: Request, clips: Sequence[Clip]) -> list[Job]:
    """Every clip at every rate with every codec, those that are compared next to each other."""
    every = dict.fromkeys(rates for codec in request.codecs for rates in request.rates_of(codec))
    constant = sorted((r for r in every if r.is_constant), key=lambda r: r.highest_bps)
    schedules = [rates for rates in every if not rates.is_constant]
    return [
        _job(request, clip, codec, rates)
        for clip in clips
        for rates in (*constant, *schedules)
        for codec in request.codecs
        if rates in request.rates_of(codec)
    ]


def _job(request: Request, clip: Clip, codec: CodecSpec, rates: Rates) -> Job:
    pictures = pictures_of_run(clip, rates=rates, options=request.read)
    is_shown = rates == _shown_rates(request, codec)
    return Job(
        clip=clip,
        codec=codec,
        rates=rates,
        pictures=pictures,
        read=request.read,
        key_times_us=request.key_times_us,
        metrics=frozenset(request.metrics),
        vmaf_every=request.vmaf_every,
        shot=_shot(rates, clip, pictures) if is_shown else None,
    )


def _shown_rates(request: Request, codec: CodecSpec) -> Rates:
    """Where pictures are set side by side: the lowest rate of all codecs, or at least of this one."""
    own = request.rates_of(codec)
    shared = [r for r in own if all(r in request.rates_of(each) for each in request.codecs)]
    constant = [r for r in shared if r.is_constant] or [r for r in own if r.is_constant] or own
    return min(constant, key=lambda rates: rates.highest_bps)


def _evaluate(request: Request, board: Board) -> int:
    with board.busy("looking through the clips"):
        clips = inspect_clips(request.clips, options=request.read)
    _check_sizes(clips, request)
    evaluation = _run_all(request, plan_jobs(request, clips), board)
    try:
        text = json.dumps(results_json(evaluation), indent=1)
        (request.out / "results.json").write_text(text + "\n", encoding="utf-8")
        report = write_report(evaluation)
    except OSError as error:
        raise CodecpilotError(f"the results cannot be written: {error}") from error
    board.conclude(evaluation, report)
    return EXIT_RUN_FAILED if evaluation.failures else 0


def _run_all(request: Request, jobs: Sequence[Job], board: Board) -> Evaluation:
    finished: dict[int, FinishedRun] = {}
    failures: dict[int, Failed] = {}
    with closing(_outcomes(request, jobs, board)) as outcomes:
        _remove_old_results(request.out)
        board.begin(jobs)
        for index, outcome in outcomes:
            result = _kept(request.out, jobs[index], outcome)
            if isinstance(result, Failed):
                failures[index] = result
                board.failed(index, result.reason)
            else:
                finished[index] = result
                board.finished(index, result)
    return Evaluation(
        request=request,
        runs=tuple(finished[index] for index in sorted(finished)),
        failures=tuple(failures[index] for index in sorted(failures)),
    )


def _kept(out: Path, job: Job, outcome: Outcome) -> FinishedRun | Failed:
    """The run with its files written; a full disk fails it like anything else."""
    if isinstance(outcome, RunFailure):
        return Failed(job=job, reason=outcome.reason)
    try:
        return write_run(out, job, outcome)
    except OSError as error:
        return Failed(job=job, reason=f"its files cannot be written: {error}")


def _outcomes(
    request: Request, jobs: Sequence[Job], board: Board
) -> Generator[tuple[int, Outcome], None, None]:
    if request.dask is not None:
        return run_on_dask(jobs, address=request.dask)
    return run_in_processes(jobs, workers=request.workers, progress=board.advance)


def _shot(rates: Rates, clip: Clip, pictures: int) -> int:
    """The picture to show side by side: the middle, or the end of a schedule's lowest step."""
    ends = [start for start, _ in rates.steps[1:]]
    lowest = min(range(len(rates.steps)), key=lambda i: rates.steps[i][1])
    if rates.is_constant or lowest >= len(ends):
        return pictures // 2
    return max(0, min(pictures, int(ends[lowest] * clip.fps / US_PER_S)) - 1)


def _check_out(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise LocalError(f"--out {out}: cannot be written to ({error.strerror})") from error


def _remove_old_results(out: Path) -> None:
    """They would speak of files that are written over, and stay when these runs are interrupted."""
    try:
        for name in ("results.json", "report.html"):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise LocalError(f"--out {out}: {error.filename}: {error.strerror}") from error


def _check_metrics(request: Request) -> None:
    if "vmaf" in request.metrics and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise LocalError(
            f"VMAF needs the evaluation extra: {INSTALL_EVALUATION}; or choose --metrics psnr,ssim"
        )


def _check_sizes(clips: Sequence[Clip], request: Request) -> None:
    if "vmaf" not in request.metrics:
        return
    for clip in clips:
        if min(clip.width, clip.height) < VMAF_MIN_SIDE_PX:
            raise LocalError(
                f"{clip.path}: VMAF needs {VMAF_MIN_SIDE_PX} pixels a side, "
                f"got {clip.width}x{clip.height}; choose --metrics psnr,ssim"
            )
