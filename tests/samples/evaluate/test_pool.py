"""Workers: results as they come, a crash that stays in its run, and an end when told to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path

import psutil
import pytest

from codecpilot.codecs.errors import LocalError
from codecpilot.samples.cli import main
from codecpilot.samples.evaluate import evaluation
from codecpilot.samples.evaluate.clips import ReadOptions, inspect_clips
from codecpilot.samples.evaluate.codec_specs import parse_codec
from codecpilot.samples.evaluate.job import Job, Outcome, RunFailure, RunOutput
from codecpilot.samples.evaluate.pool import Progress, run_in_processes
from codecpilot.samples.evaluate.rates import constant
from codecpilot.samples.evaluate.run import run_job

from .clip_files import write_y4m


def jobs(folder: Path, *kbps: int) -> list[Job]:
    path = write_y4m(folder / "clip.y4m", 6)
    clip = inspect_clips([str(path)], options=ReadOptions())[0]
    codec = parse_codec("h264:ultrafast")
    return [
        Job(
            clip=clip,
            codec=codec,
            rates=constant(rate),
            pictures=6,
            read=ReadOptions(),
            metrics=frozenset({"psnr"}),
        )
        for rate in kbps
    ]


def die_at_66(job: Job, report: Callable[[float], None]) -> Outcome:
    if job.rates == constant(66):
        os.kill(os.getpid(), signal.SIGKILL)
    if job.rates == constant(67):
        os._exit(7)
    return run_job(job, report)


def run_here(
    todo: Sequence[Job], *, workers: int, progress: Progress
) -> Generator[tuple[int, Outcome], None, None]:
    yield from ((index, run_job(job)) for index, job in enumerate(todo))


def test_a_worker_that_dies_fails_its_own_run_with_the_reason(tmp_path: Path) -> None:
    parts: list[tuple[int, float]] = []
    found = dict(
        run_in_processes(
            jobs(tmp_path, 50, 66, 67, 100),
            workers=1,
            progress=lambda index, part: parts.append((index, part)),
            work=die_at_66,
        )
    )
    assert sorted(found) == [0, 1, 2, 3]
    assert isinstance(found[0], RunOutput)
    assert isinstance(found[3], RunOutput)
    assert found[1] == RunFailure(reason="the worker process was killed by SIGKILL")
    assert found[2] == RunFailure(reason="the worker process ended with exit code 7")
    assert {index for index, _ in parts} == {0, 3}
    assert all(0 <= part <= 1 for _, part in parts)


def test_the_command_goes_on_after_a_failed_run_and_returns_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluation, "run_in_processes", partial(run_in_processes, work=die_at_66))
    clip, out = write_y4m(tmp_path / "clip.y4m", 6), tmp_path / "out"
    options = "--codecs h264:ultrafast --bitrates 50,66,100 --metrics psnr --jobs 1"
    assert main(["evaluate", str(clip), *options.split(), "--out", str(out)]) == 1
    results = json.loads((out / "results.json").read_text())
    assert [run["target_kbps"] for run in results["runs"]] == [50, 100]
    (failure,) = results["failures"]
    assert failure == {
        "clip": "clip.y4m",
        "codec": "h264",
        "preset": "ultrafast",
        "rate": "66 kbps",
        "reason": "the worker process was killed by SIGKILL",
    }
    assert "killed by SIGKILL" in (out / "report.html").read_text()
    assert "killed by SIGKILL" in capsys.readouterr().err


def test_files_that_cannot_be_written_fail_their_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip, out = write_y4m(tmp_path / "clip.y4m", 6), tmp_path / "out"
    monkeypatch.setattr(evaluation, "run_in_processes", run_here)
    (out / "runs/clip.y4m/h264-ultrafast").mkdir(parents=True)
    (out / "runs/clip.y4m/h264-ultrafast/66kbps").write_text("in the way")
    options = "--codecs h264:ultrafast --bitrates 50,66 --metrics psnr"
    assert main(["evaluate", str(clip), *options.split(), "--out", str(out)]) == 1
    results = json.loads((out / "results.json").read_text())
    assert [run["target_kbps"] for run in results["runs"]] == [50]
    assert "its files cannot be written" in results["failures"][0]["reason"]


def test_a_run_that_cannot_be_done_is_a_failure_not_an_exception(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, 50)
    Path(job.clip.path).unlink()
    outcome = run_job(job)
    assert isinstance(outcome, RunFailure)
    assert "no such file" in outcome.reason


def test_closing_early_ends_the_workers(tmp_path: Path) -> None:
    runs = run_in_processes(jobs(tmp_path, 50, 60, 70), workers=2, progress=lambda i, p: None)
    next(runs)
    workers = [p for p in psutil.Process().children() if "spawn_main" in " ".join(p.cmdline())]
    assert len(workers) == 2
    runs.close()
    assert not any(worker.is_running() for worker in workers)


def test_ctrl_c_ends_command_and_workers(tmp_path: Path) -> None:
    clip, out = write_y4m(tmp_path / "clip.y4m", 30), tmp_path / "out"
    out.mkdir()
    old = [out / "results.json", out / "report.html"]
    for path in old:
        path.write_text("of files that are written over")
    options = "--codecs h264:ultrafast --schedule 0:50,600:60 --metrics psnr,ssim --jobs 2"
    # A shell's background jobs ignore the signal, and so would what they start.
    command = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from codecpilot.samples.cli import main; raise SystemExit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", command, "evaluate", str(clip), *options.split(), "--out", str(out)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    parent = psutil.Process(process.pid)
    deadline = time.monotonic() + 60
    while not (workers := [c for c in parent.children() if c.cpu_times().user > 1]):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    # As a terminal does it: to every process at once.
    os.killpg(process.pid, signal.SIGINT)
    _, text = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in text
    assert "Traceback" not in text
    _, alive = psutil.wait_procs(workers, timeout=5)
    assert alive == []
    assert not any(path.exists() for path in old)


def test_dask_without_the_extra_or_a_scheduler_is_a_local_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from codecpilot.samples.evaluate.dask_pool import run_on_dask

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(LocalError, match="dask extra"):
        run_on_dask(jobs(tmp_path, 50), address="tcp://127.0.0.1:9")


@pytest.mark.parametrize("address", ["", "scheduler", "carrier-pigeon://x:1"])
def test_an_address_that_is_none_is_refused_before_a_client_is_made_of_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the dask extra")
    from codecpilot.samples.evaluate.dask_pool import run_on_dask

    made: list[object] = []
    monkeypatch.setattr(distributed, "Client", lambda *args, **options: made.append(args))
    with pytest.raises(LocalError, match=f"no Dask scheduler answers at {address}"):
        run_on_dask(jobs(tmp_path, 50), address=address)
    assert made == []


def test_dask_gives_the_same_outcomes_as_processes(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the dask extra")
    from codecpilot.samples.evaluate.dask_pool import run_on_dask

    work = jobs(tmp_path, 50, 100)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        found = dict(run_on_dask(work, address=cluster.scheduler_address))
    for index, job in enumerate(work):
        expected, outcome = run_job(job), found[index]
        assert isinstance(expected, RunOutput)
        assert isinstance(outcome, RunOutput)
        assert outcome.bitstream == expected.bitstream
